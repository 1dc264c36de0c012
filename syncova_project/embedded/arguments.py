"""The command line of the stack: `up`, `down`, `status`, `logs`; owns options and help texts, runs nothing."""

import argparse
from pathlib import Path

from repositories.console.version import VERSION
from syncova_project.command_lines import CommandLineParser
from syncova_project.embedded.binding import DEFAULT_ADDRESS, DEFAULT_PORT

_LAST_PORT = 65535
_UP = """\
examples:
  ./syncova up                     in the foreground, until Ctrl-C
  ./syncova up -d                  in the background; ./syncova down stops it
  ./syncova up --data /srv/syncova --port 9000
  ./syncova up --bind 10.0.0.5 --tls-cert cert.pem --tls-key key.pem
"""
_DOWN = "examples:\n  ./syncova down\n  ./syncova down --data /srv/syncova\n"
_STATUS = "examples:\n  ./syncova status\n  ./syncova status --json\n\nexit code: 0 it runs, 1 it does not\n"
_LOGS = "examples:\n  ./syncova logs              the last lines of every process\n  ./syncova logs -f work\n"


def parser() -> CommandLineParser:
    """Return the parser; `command` names the subcommand."""
    top = CommandLineParser(prog="syncova", description="Run Syncova and its servers on this machine.")
    top.add_argument("--version", action="version", version=f"syncova {VERSION}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_up(commands)
    down = _add(commands, "down", "stop what `up` started", _DOWN)
    down.add_argument("-n", "--dry-run", action="store_true", help="only say what would be stopped")
    status = _add(commands, "status", "say what runs and where", _STATUS)
    status.add_argument("--json", action="store_true", help="print one JSON object")
    logs = _add(commands, "logs", "show what the processes wrote", _LOGS)
    logs.add_argument("process", nargs="?", metavar="PROCESS", help="only this one (web, work, postgres, …)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until Ctrl-C")
    logs.add_argument("--lines", type=_count, default=50, metavar="N", help="lines of each log to begin with (50)")
    return top


def _add_up(commands: "argparse._SubParsersAction[CommandLineParser]") -> None:
    up = _add(commands, "up", "start everything on this machine", _UP)
    up.add_argument("--port", type=_port, default=DEFAULT_PORT, metavar="N", help=f"port of web ({DEFAULT_PORT})")
    up.add_argument("--bind", default=DEFAULT_ADDRESS, metavar="ADDRESS", help=f"address of web ({DEFAULT_ADDRESS})")
    up.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate chain (PEM); web then speaks https")
    up.add_argument("--tls-key", type=Path, metavar="FILE", help="its key (PEM)")
    up.add_argument("--insecure", action="store_true", help="allow another address than loopback without TLS")
    up.add_argument("-d", "--detach", action="store_true", help="go on in the background once web answers")
    up.add_argument("-n", "--dry-run", action="store_true", help="check the directory and the address, start nothing")


def _add(
    commands: "argparse._SubParsersAction[CommandLineParser]", name: str, summary: str, examples: str
) -> CommandLineParser:
    command = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--version", action="version", version=f"syncova {VERSION}")
    command.add_argument("--data", type=_directory, metavar="DIR", help="data directory (else SYNCOVA_DATA_DIR)")
    command.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    command.add_argument("-v", "--verbose", action="store_true", help="print every step")
    return command


def _directory(text: str) -> Path:
    if not text.startswith("/") or "\0" in text:
        # An empty variable in a script would otherwise mean the present directory.
        raise argparse.ArgumentTypeError(f"{text!r} is no absolute path: write it from / on")
    return Path(text)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _LAST_PORT):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 0 (any free one) to {_LAST_PORT}")
    return int(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of lines: give 0 or more")
    return int(text)
