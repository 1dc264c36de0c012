"""`down`, `status` and `logs`: what a second command line sees of a running stack, and how it stops it."""

import argparse
import json
import signal
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from syncova_project import env
from syncova_project.embedded import claiming, leftovers, log_files, ownership, processes, responses
from syncova_project.embedded.console import Console
from syncova_project.embedded.layout import Layout
from syncova_project.embedded.problems import DataDirectoryError

# Seconds that a starter gets: its own 35 and a little for a busy machine.
_DOWN_SECONDS = 45.0


def layout_of(arguments: argparse.Namespace) -> Layout:
    """Return the data directory that the command line or the settings name."""
    root = env.data_directory(env.load(arguments.data))
    claiming.check_named(root)
    return Layout(root.resolve())


def down(arguments: argparse.Namespace, console: Console) -> int:
    """Stop the stack: its starter does it; without one, or when it hangs, its processes are ended one by one."""
    layout = layout_of(arguments)
    record = ownership.read_record(layout) if ownership.has_live_owner(layout) else None
    if arguments.dry_run:
        console.answer(f"Would stop process {record.pid}, {record.url}" if record else "Nothing runs")
        return 0
    if record is not None:
        starter = processes.Identity(record.pid, record.started)
        console.say(f"Stopping process {record.pid}, {record.url}")
        processes.send(starter, signal.SIGTERM)
        if processes.wait_gone([starter], _DOWN_SECONDS):
            console.warn(f"Process {record.pid} does not end; it is killed")
            processes.send(starter, signal.SIGKILL)
            processes.wait_gone([starter], 5)
    if not layout.state.is_dir():
        console.say(f"Nothing runs from {layout.root}")
        return 0
    with ownership.owning(layout):
        stopped = leftovers.stop_leftovers(layout, console.say)
        ownership.forget_record(layout)
    console.say("Stopped" if record or stopped else f"Nothing runs from {layout.root}")
    return 0


def status(arguments: argparse.Namespace, console: Console) -> int:
    """Print what runs; 0 when the stack is ready, else 1."""
    layout = layout_of(arguments)
    found = describe(layout)
    if arguments.json:
        console.answer(json.dumps(found, indent=2))
    else:
        for line in _lines(found):
            console.answer(line)
    return 0 if found["phase"] == "ready" else 1


def describe(layout: Layout) -> dict[str, Any]:
    """Return the state of a stack as JSON values; each process is looked at now, and each server asked.

    `phase` is starting, ready, impaired (a process is missing or does not do its work), stopping or stopped.
    """
    live = ownership.has_live_owner(layout)
    record = ownership.read_record(layout)
    result: dict[str, Any] = {
        "running": live,
        "phase": "stopped",
        "data_dir": str(layout.root),
        "pid": None,
        "url": None,
        "since": None,
        "processes": [],
    }
    if record is None:
        return result | ({"phase": "starting"} if live else {})
    members = [asdict(member) for member in record.members]
    silent = responses.silent(layout, record) if live and record.phase == "ready" else {}
    for member, known in zip(members, record.members, strict=True):
        alive = bool(known.pid) and processes.is_alive(known.identity)
        member["state"] = "running" if alive else ("waiting" if live else "stopped")
        member["problem"] = silent.get(known.name, "") if alive else ""
        del member["started"]
    if not live:
        # A killed starter: what still runs is told, the next `up` or `down` stops it.
        return result | {"processes": [member for member in members if member["state"] == "running"]}
    healthy = all(member["state"] == "running" and not member["problem"] for member in members)
    return result | {
        "phase": record.phase if healthy or record.phase != "ready" else "impaired",
        "pid": record.pid,
        "url": record.url,
        "since": record.since,
        "processes": members,
    }


def logs(arguments: argparse.Namespace, console: Console) -> int:
    """Print the last lines of one log or all, and with -f go on until Ctrl-C."""
    layout = layout_of(arguments)
    try:
        chosen = log_files.chosen(layout, arguments.process)
        for log in chosen:
            for line in log_files.last_lines(log, arguments.lines):
                console.answer(_labelled(log, line, arguments.process))
        if arguments.follow:
            asked = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: asked.set())
            for log, line in log_files.follow(chosen, asked.is_set):
                console.answer(_labelled(log, line, arguments.process))
    except PermissionError:
        raise DataDirectoryError(f"{layout.root} belongs to another user.", hint="Run as its owner.") from None
    return 0


def _labelled(log: Path, line: str, only: str | None) -> str:
    return line if only else f"{log.stem:<9} {line}"


def _lines(found: dict[str, Any]) -> list[str]:
    if found["phase"] == "stopped":
        first = f"Not running (data: {found['data_dir']})"
        if found["processes"]:
            first = (
                f"Its starter was killed; what it started still runs (data: {found['data_dir']}). "
                "`./syncova up -d` starts anew, `./syncova down` stops it:"
            )
    else:
        first = f"{found['phase'].capitalize()}: {found['url']}, process {found['pid']}, since {found['since']}"
    return [first, *(_line(member) for member in found["processes"])]


def _line(member: dict[str, Any]) -> str:
    restarts = f", started again {_times(member['restarts'])}" if member["restarts"] else ""
    last = f", last end: {member['last_exit']}" if member["last_exit"] else ""
    problem = f", {member['problem']}" if member["problem"] else ""
    line = f"  {member['name']:<9} {member['state']:<8} pid {member['pid']:<8} {member['user']}"
    return f"{line}{problem}{restarts}{last}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
