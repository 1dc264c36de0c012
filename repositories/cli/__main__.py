"""`python -m repositories.cli`: the program syncova-repo."""

import gc
import sys

from repositories.console import head_start, leaving, streams

if __name__ == "__main__":
    # What is imported stays.
    gc.disable()
    streams.complete()
    head_start.begin(sys.argv[1:], frozenset({"check", "copy"}))
    # Imported while the child starts.
    from repositories.cli.program import main

    gc.freeze()
    gc.enable()
    try:
        code = main()
    finally:
        head_start.end()
    leaving.leave(code)
