"""`python -m jobs.ctl`: the program ./syncova ctl."""

import sys

from jobs.ctl.program import main

if __name__ == "__main__":
    sys.exit(main())
