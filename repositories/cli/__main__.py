"""`python -m repositories.cli`: the program syncova-repo."""

import sys

from repositories.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
