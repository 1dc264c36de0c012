"""docs/cli.md as text, made from the programs themselves: `python -m repositories.console.reference` prints it.

Owns the page's form. Finds the programs by name, because they stand above this package.
"""

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import typer

from repositories.console import exits

PROGRAMS = ("repositories.cli.program", "agents.runtime.program", "jobs.ctl.program")
_HEAD = """# Commands

Made by `python -m repositories.console.reference` from the programs themselves; a test keeps this page in step.

In a clone, `./syncova repo …` is `syncova-repo …` and `./syncova agent …` is `syncova-agent …`;
`./syncova check LOCATION` is `syncova-repo check LOCATION`.

Passwords are never arguments: give `--password-file`, `--password-command`, `SYNCOVA_REPOSITORY_PASSWORD` or
`SYNCOVA_REPOSITORY_PASSWORD_FILE`, or type them on a terminal; a recovery code serves as well. Off a terminal nothing
is asked. `NO_COLOR` is obeyed. With `--json` stdout is exactly one object, also on failure:
`{"error": {"code", "message", "hint"}}`; fields are only ever added. What the engine warned of while
a command went on (that the repository shows an earlier state, say) is in `warned`, a list that is there if it holds
anything. Names are shown with control, direction and invalid bytes escaped (`\\x1b`, `\\u202e`, `\\xff`; a backslash is
`\\\\`); where that is not the exact name, JSON carries it as `path_base64` too.
"""
_CODES = (
    (exits.DONE, "done; warnings are shown"),
    (exits.FAILED, "failed"),
    (exits.USAGE, "wrong use"),
    (exits.SKIPPED, "done, but something was skipped"),
    (exits.NO_REPOSITORY, "no repository there"),
    (exits.LOCKED, "the repository is locked"),
    (exits.WRONG_KEY, "wrong password or key"),
    (exits.INTEGRITY, "damaged data"),
    (exits.INTERRUPTED, "interrupted (Ctrl-C)"),
    (exits.TERMINATED, "terminated"),
)


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD, "## Exit codes\n", *_table(("Code", "Meaning"), [(str(code), text) for code, text in _CODES])]
    for name in PROGRAMS:
        program = importlib.import_module(name)
        parts += _program(program.NAME, typer.main.get_command(program.build()))
    return "\n".join(parts).rstrip("\n") + "\n"


def _program(name: str, group: Any) -> Iterator[str]:
    verbs = list(_verbs(name, group))
    yield f"\n## {name}\n"
    yield f"{group.help}\n"
    common = _common([verb for _, verb in verbs])
    if common:
        yield "Options of all its commands:\n"
        yield from _table(("Option", "Meaning"), common)
    for path, verb in verbs:
        yield from _verb(path, verb, common)


def _verbs(path: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _verbs(f"{path} {name}", command)
        else:
            yield f"{path} {name}", command


def _common(verbs: list[Any]) -> list[tuple[str, str]]:
    """Return the options that every verb has, in the order of the first one."""
    return [row for row in _options(verbs[0]) if all(row in _options(verb) for verb in verbs[1:])]


def _verb(path: str, verb: Any, common: list[tuple[str, str]]) -> Iterator[str]:
    arguments = [param.metavar or param.name.upper() for param in verb.params if param.param_type_name == "argument"]
    yield f"\n### {path}\n"
    # What follows two dashes is no option any more: it stands last, and all else before it.
    usage = sorted([*arguments, "[OPTIONS]"], key=lambda word: word.startswith("[--"))
    yield f"    {' '.join([path, *usage])}\n"
    yield f"{' '.join((verb.help or '').split())}\n"
    own = [row for row in _options(verb) if row not in common]
    if own:
        yield from _table(("Option", "Meaning"), own)
    if verb.epilog:
        yield "\n```\n" + "\n".join(line.strip() for line in verb.epilog.splitlines()[2:]) + "\n```"


def _options(verb: Any) -> list[tuple[str, str]]:
    return [_option(param) for param in verb.params if param.param_type_name == "option" and not param.hidden]


def _option(param: Any) -> tuple[str, str]:
    names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
    value = "" if param.is_flag else f" {param.metavar or 'VALUE'}".replace("|", "\\|")
    default = f" Default: `{param.default}`." if isinstance(param.default, str) and param.default else ""
    return names + value, (param.help or "").replace("|", "\\|") + default


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> list[str]:
    return ["| {} | {} |\n| --- | --- |".format(*head), *("| {} | {} |".format(*row) for row in rows)]


if __name__ == "__main__":
    sys.stdout.write(page())
