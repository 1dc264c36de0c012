"""The table of subcommands: what each needs installed and which program it becomes.

Owns names and help; runs nothing.
"""

import difflib
from typing import List, NamedTuple, Tuple

from bootstrap.failures import USAGE, BootstrapError


class Command(NamedTuple):
    """One subcommand of ./syncova."""

    name: str
    layer: str
    program: Tuple[str, ...]  # follows the interpreter; what was typed after the name follows it
    arguments: str
    summary: str


def _module(name: str, *arguments: str) -> Tuple[str, ...]:
    return ("-m", name, *arguments)


_EMBEDDED = "syncova_project.embedded"
MANAGE = "{clone}/manage.py"

COMMANDS = (
    Command(
        "demo",
        "embedded",
        _module("syncova_project.demo"),
        "[PATH] [--keep]",
        "the main job, step by step, on servers of its own",
    ),
    Command(
        "up", "embedded", _module(_EMBEDDED, "up"), "[--data DIR] [--port N] [-d]", "start everything on this machine"
    ),
    Command("down", "embedded", _module(_EMBEDDED, "down"), "[--data DIR]", "stop what `up` started"),
    Command("status", "embedded", _module(_EMBEDDED, "status"), "[--data DIR]", "say what runs and where"),
    Command("logs", "embedded", _module(_EMBEDDED, "logs"), "[-f] [PROCESS]", "show what the processes wrote"),
    Command("ctl", "base", _module("jobs.ctl"), "...", "repositories, jobs and runs over the API"),
    Command(
        "repo",
        "base",
        _module("repositories.cli"),
        "...",
        "repositories with no database: create, list, ls, show, check ...",
    ),
    Command("check", "base", _module("repositories.cli", "check"), "LOCATION", "check a repository"),
    Command(
        "agent", "base", _module("agents.runtime"), "...", "back up and restore this machine, with or without a server"
    ),
    Command("migrate", "base", (MANAGE, "migrate"), "...", "bring the database's tables up to date"),
    Command("manage", "base", (MANAGE,), "...", "Django's management commands"),
    Command("shell", "base", (MANAGE, "shell"), "...", "a Python shell with the product loaded"),
    Command(
        "test",
        "dev",
        _module("tests.suite"),
        "[pytest arguments]",
        "run the tests; `test tests/engine` starts no server",
    ),
    Command("lint", "dev", _module("tests.lint"), "[--fix]", "check style, types, imports and migrations"),
    Command("bench", "dev", _module("tests.benchmarks"), "[NAME]", "measure"),
)
HELP = """\
usage: ./syncova [--wheels DIR] COMMAND [ARGUMENTS]

Backups that are really there. The first start installs what the command needs into .venv beside this script.

commands:
{commands}
  install   s3|webdav|sftp
            add what repositories on such servers need
  wheels    DIR [--layer base|embedded|dev|s3|webdav|sftp]
            fetch every package into DIR, for machines without a network
options:
  --wheels DIR   install from the wheels in DIR only
  --version      show the version
  -h, --help     show this; COMMAND --help tells more about a command

examples:
  ./syncova demo                       see a backup made, broken, found and restored
  ./syncova up -d && ./syncova ctl status
  ./syncova agent restore -r /srv/backups --backup latest --target /srv/back
  ./syncova wheels /media/usb          and there: ./syncova --wheels /media/usb up
"""


def find(name: str) -> Command:
    """Return the command of this name; BootstrapError names the nearest one."""
    for command in COMMANDS:
        if command.name == name:
            return command
    known = [command.name for command in COMMANDS] + ["install", "wheels"]
    near = difflib.get_close_matches(name, known, 1, 0.7)
    hint = "did you mean {}?".format(near[0]) if near else "./syncova --help lists them"
    raise BootstrapError("unknown command {!r}; {}".format(name, hint), USAGE)


def help_text() -> str:
    """Return what --help prints."""
    lines: List[str] = []
    for command in COMMANDS:
        lines.append("  {:<9} {}".format(command.name, command.arguments))
        lines.append("            {}".format(command.summary))
    return HELP.format(commands="\n".join(lines))
