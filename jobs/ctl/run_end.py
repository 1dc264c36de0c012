"""Waiting for a run's end and telling it: progress on stderr, the result on stdout, the exit code of the result."""

from typing import Any, Final

from jobs.ctl import shapes
from jobs.ctl.api import EXIT_CODES, Api, Json
from jobs.ctl.patience import looks
from repositories.console import exits
from repositories.console.terminal import Terminal
from repositories.engine.display import show_bytes, show_count, show_text

ENDS: Final = frozenset({"succeeded", "partial_failure", "failed", "cancelled"})


def await_end(api: Api, run: Json, terminal: Terminal) -> Json:
    """Return the run once it has ended; interrupting this leaves the run alone."""
    told = ""
    for _ in looks():
        run = api.get(f"runs/{run['id']}")
        if run["state"] in ENDS:
            break
        line = f"{shapes.state(run['phase'])}{shapes.why(run)}{_progress(run['progress'])}"
        if line != told:
            terminal.note(line)
            told = line
    return run


def exit_code_of(run: Json) -> int:
    """Return what `job run --wait` exits with: partial failure is 3, a failure its own code."""
    if run["state"] == "succeeded":
        return exits.DONE
    if run["state"] == "partial_failure":
        return exits.SKIPPED
    return EXIT_CODES.get(run["failure"]["code"], exits.FAILED) if run["failure"] else exits.FAILED


def tell_run(terminal: Terminal, run: Json) -> None:
    """Print a run with its sources."""
    rows = [
        ("run", run["id"]),
        ("job", shapes.text(run["job"]["name"] if run["job"] else None)),
        ("state", f"{shapes.state(run['phase'])}{shapes.why(run)}"),
        ("started by", f"{shapes.text(run['trigger'])}, attempt {run['attempt']}"),
        ("planned", shapes.moment(run["scheduled_for"])),
        ("started", _started(run)),
        ("ended", shapes.moment(run["finished_at"])),
    ]
    if run["state"] in ENDS:
        rows += _result(run)
    rows += [("source", _source(source)) for source in run.get("sources", ())]
    terminal.table(rows)
    terminal.document(run)


def _result(run: Json) -> list[tuple[str, str]]:
    rows = [("result", shapes.text(run["reason"]))]
    if run["failure"]:
        rows.append(("failure", f"{shapes.text(run['failure']['code'])} ({shapes.text(run['failure']['class'])})"))
    if run["failure"] and run["failure"]["hint"]:
        rows.append(("hint", show_text(run["failure"]["hint"])))
    figures = f"{show_count(run['files'], 'file')}, {show_bytes(run['logical_bytes'])}"
    rows.append(("backed up", f"{figures}, {run['skipped']} skipped, {run['warnings']} warnings"))
    rows.append(("read, stored", f"{show_bytes(run['bytes_read'])}, {show_bytes(run['bytes_stored'])}"))
    return rows


def _source(source: Json) -> str:
    line = f"{source['source']['path']}: {shapes.state(source['state'])}"
    if source["failure"]:
        line += f": {show_text(source['failure']['message'])}"
    return f"{line}, backup {source['backup_id']}" if source["backup_id"] else line


def _started(run: Json) -> str:
    late = run["delay_seconds"]
    return f"{shapes.moment(run['started_at'])}{f' ({late} s after its time)' if late else ''}"


def _progress(progress: Any) -> str:
    if not isinstance(progress, dict):
        return ""
    read = progress.get("bytes_read", 0)
    return f", {shapes.text(progress.get('phase'))}: {progress.get('files', 0)} files, {show_bytes(read)} read"
