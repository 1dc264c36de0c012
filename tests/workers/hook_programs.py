"""Hooks for tests: programs that note that they ran, what they were told, and end as their name says."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.executors import ExecutionRequest, HookCall
from jobs.states import HookMoment
from tests import canaries
from tests.workers import scenario
from tests.workers.scenario import Ground
from tests.workers.test_executor import request_for

PROGRAM = """#!/bin/sh
echo "$1 $SYNCOVA_RUN_MOMENT $SYNCOVA_RUN_SOURCE $SYNCOVA_RUN_STATE $SYNCOVA_RUN_ERROR" >> {journal}
printf 'says %s\\033[31m\\n' "$1"
[ "$1" != warn ] || cat {words}
case "$SYNCOVA_RUN_SOURCE" in *spared) exit 0;; esac
sleep "$3"
exit "$2"
"""
EXITS = {"good": (0, 0), "bad": (3, 0), "warn": (1, 0), "skip": (75, 0), "slow": (0, 30), "stuck": (0, 30)}
Told = Callable[[], list[list[str]]]


def install(place: Ground, settings: Any) -> Told:
    """Write the hooks of `EXITS`; return what reads the journal. A source named `…spared` makes each of them succeed.

    `slow` is ended after two seconds, in which every other has ended on a busy machine too, `stuck` has 20.
    """
    directory = place.directory / "hooks"
    directory.mkdir(mode=0o755)
    program, journal, words = (directory / name for name in ("program", "journal", "words"))
    words.write_text(canaries.hook_words("journal") + "\n")
    program.write_text(PROGRAM.format(journal=journal, words=words))
    program.chmod(0o755)
    tables = [
        f'[hooks.{name}]\nargv = ["{program}", "{name}", "{code}", "{pause}"]\n'
        f'seconds = {2 if name == "slow" else 20}\nexits = {{ 75 = "skip", 1 = "warn" }}\n'
        for name, (code, pause) in EXITS.items()
    ]
    (directory / "hooks.toml").write_text("".join(tables))
    settings.SYNCOVA_HOOKS_FILE = str(directory / "hooks.toml")
    return lambda: [line.split() for line in journal.read_text().splitlines()] if journal.exists() else []


def hooked(place: Ground, *calls: str, sources: tuple[Path, ...] = ()) -> ExecutionRequest:
    """Return a request whose hooks are written `moment=name`."""
    paths = sources or (scenario.small_tree(place.directory),)
    named = tuple(HookCall(HookMoment(call.split("=")[0]), call.split("=")[1]) for call in calls)
    return replace(request_for(place, *paths), hooks=named)


def processes_of(place: Ground) -> list[str]:
    """Return the processes that still run one of the hooks."""
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and _says(pid, str(place.directory / "hooks"))]


def _says(pid: str, text: str) -> bool:
    try:
        return text in Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return False
