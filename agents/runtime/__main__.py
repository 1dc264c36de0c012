"""`python -m agents.runtime`: the program syncova-agent."""

import sys

from agents.runtime.program import main

if __name__ == "__main__":
    sys.exit(main())
