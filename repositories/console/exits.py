"""Exit codes of all commands (design.md, section 4). Owns numbers only."""

DONE = 0
FAILED = 1
USAGE = 2
SKIPPED = 3
NO_REPOSITORY = 10
LOCKED = 11
WRONG_KEY = 12
INTEGRITY = 13
INTERRUPTED = 130
TERMINATED = 143
