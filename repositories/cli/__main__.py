"""`python -m repositories.cli`: the program syncova-repo."""

import sys

from repositories.console import head_start, streams

if __name__ == "__main__":
    streams.complete()
    head_start.begin(sys.argv[1:], frozenset({"check", "copy"}))
    # Imported while the child starts.
    from repositories.cli.program import main

    try:
        sys.exit(main())
    finally:
        head_start.end()
