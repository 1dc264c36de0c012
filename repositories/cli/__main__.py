"""`python -m repositories.cli`: the program syncova-repo."""

import sys

from repositories.console import head_start, leaving, streams

if __name__ == "__main__":
    streams.complete()
    head_start.begin(sys.argv[1:], frozenset({"check", "copy"}))
    # Imported while the child starts.
    from repositories.cli.program import main

    try:
        code = main()
    finally:
        head_start.end()
    leaving.leave(code)
