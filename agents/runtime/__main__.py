"""`python -m agents.runtime`: the program syncova-agent."""

import sys

from repositories.console import head_start, streams

if __name__ == "__main__":
    streams.complete()
    head_start.begin(sys.argv[1:], frozenset({"backup", "restore"}))
    # Imported while the child starts.
    from agents.runtime.program import main

    try:
        sys.exit(main())
    finally:
        head_start.end()
