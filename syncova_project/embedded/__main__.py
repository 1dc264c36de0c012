"""`python -m syncova_project.embedded COMMAND`: runs the stack's commands and turns errors into exit codes.

0 done, 1 failed, 2 wrong usage, 130 interrupted before anything ran.
"""

import json
import sys

from syncova_project.embedded import inspecting, running
from syncova_project.embedded.arguments import parser
from syncova_project.embedded.console import Console
from syncova_project.errors import SyncovaError

_COMMANDS = {"up": running.up, "down": inspecting.down, "status": inspecting.status, "logs": inspecting.logs}


def main(words: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = parser().parse_args(words)
    console = Console(quiet=arguments.quiet, verbose=arguments.verbose)
    try:
        return _COMMANDS[arguments.command](arguments, console)
    except SyncovaError as error:
        if getattr(arguments, "json", False):
            shape = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
            console.answer(json.dumps(shape))
        else:
            console.fail(error)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
