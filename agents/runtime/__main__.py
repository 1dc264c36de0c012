"""`python -m agents.runtime`: the program syncova-agent."""

import gc
import sys

from repositories.console import head_start, leaving, streams

if __name__ == "__main__":
    # What is imported stays.
    gc.disable()
    streams.complete()
    head_start.begin(sys.argv[1:], frozenset({"backup", "restore"}))
    # Imported while the child starts.
    from agents.runtime.program import main

    gc.freeze()
    gc.enable()
    try:
        code = main()
    finally:
        head_start.end()
    leaving.leave(code)
