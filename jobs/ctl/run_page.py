"""One run as people read it: why it waits or how it ended, what it found, and each source with what it skipped.

Owns the words and their order. Every name and message from the server is shown as harmless text.
"""

from collections.abc import Iterator
from typing import Any, Final

from jobs.ctl import shapes
from jobs.ctl.api import Json
from repositories.console.terminal import Terminal
from repositories.engine.display import show_bytes, show_count, show_text

ENDS: Final = frozenset({"succeeded", "partial_failure", "failed", "cancelled"})
SHOWN_PROBLEMS: Final = 10
_GRAVITY: Final = {"skipped": 0, "warning": 1}

Rows = Iterator[tuple[str, str]]


def tell_run(terminal: Terminal, run: Json) -> None:
    """Print a run with its sources."""
    terminal.table([*_head(run), *_cancel(run), *_outcome(run), *_sources(run), *_following(run)])
    terminal.document(run)


def following(run: Json) -> str:
    """Return the run that was queued because of this one's end and when it starts, "" when there is none."""
    after = run.get("followed_by")
    if after is None:
        return ""
    told = f"attempt {after['attempt']} is run {after['id']}, {shapes.state(after['phase'])}"
    return f"{told}{shapes.why(after)}"


def progress(run: Json) -> str:
    """Return how far a run is, "" while it has told nothing."""
    told: Any = run.get("progress")
    if not isinstance(told, dict):
        return ""
    read, stored = show_bytes(told.get("bytes_read", 0)), show_bytes(told.get("bytes_stored", 0))
    files = show_count(told.get("files", 0), "file")
    return f"{shapes.text(told.get('phase'))}: {files}, {read} read, {stored} stored"


def _head(run: Json) -> Rows:
    late = run["delay_seconds"]
    yield "run", run["id"]
    if run["job"]:
        yield "job", shapes.text(run["job"]["name"])
    else:
        yield run["kind"], f"on {shapes.text(run['repository']['name'])}"
    yield "state", f"{shapes.state(run['phase'])}{shapes.why(run)}{shapes.silence(run)}"
    yield "started by", f"{shapes.text(run['trigger'])}, attempt {run['attempt']}"
    if run.get("accept_new_root"):
        yield "confirmed", f"what its sources hold now, by {shapes.text(run['requested_by'])}"
    if run.get("ignore_dependencies"):
        yield "ignores", "what became of the jobs that it waits for"
    yield "planned", shapes.exact(run["scheduled_for"])
    yield "started", f"{shapes.exact(run['started_at'])}{f' ({late} s after its time)' if late else ''}"
    yield "ended", shapes.exact(run["finished_at"])


def _cancel(run: Json) -> Rows:
    asked = run["cancel"]
    if asked is not None:
        who = shapes.text(asked["by"] or asked["origin"])
        yield "cancel", f"asked for by {who} at {shapes.exact(asked['requested_at'])}"


def _outcome(run: Json) -> Rows:
    if run["state"] not in ENDS:
        if progress(run):
            yield "progress", progress(run)
        return
    yield "result", shapes.text(run["reason"])
    if run["failure"]:
        yield "failure", f"{shapes.text(run['failure']['code'])} ({shapes.text(run['failure']['class'])})"
    if run["failure"] and run["failure"]["hint"]:
        yield "hint", show_text(run["failure"]["hint"])
    for found in run.get("findings", ()):
        yield "found", show_text(found["sentence"])
    yield from _figures(run)


def _figures(run: Json) -> Rows:
    done = {"backup": "backed up", "restore": "restored"}.get(run["kind"])
    if done:
        figures = f"{show_count(run['files'], 'file')}, {show_bytes(run['logical_bytes'])}"
        yield done, f"{figures}, {run['skipped']} skipped, {show_count(run['warnings'], 'warning')}"
    yield from _result(run)
    # What a source read before it was stopped is no part of any backup, so only the progress knows of it.
    if run["state"] in {"cancelled", "failed"} and not run["bytes_read"] and progress(run):
        yield "until its end", progress(run)
    else:
        yield "read, stored", f"{show_bytes(run['bytes_read'])}, {show_bytes(run['bytes_stored'])}"


def _result(run: Json) -> Rows:
    """Say what came of a run without a job; lists, such as a plan, are told by the verb that asked for them."""
    told: Any = run.get("result")
    if isinstance(told, dict):
        for name, value in told.items():
            if isinstance(value, str | int | float) and value not in ("", 0):
                yield show_text(name.replace("_", " ")), shapes.text(value)


def _sources(run: Json) -> Rows:
    for source in run.get("sources", ()):
        yield "source", _source(source)
        # The run's own hint is the gravest source's; the others have theirs here.
        if source["failure"] and source["failure"]["hint"] not in ("", (run["failure"] or {}).get("hint")):
            yield "  hint", show_text(source["failure"]["hint"])
        problems = sorted(source["problems"], key=lambda one: _GRAVITY.get(one["severity"], 2))
        for problem in problems[:SHOWN_PROBLEMS]:
            yield f"  {show_text(problem['severity'])}", _problem(problem)
        total = source["skipped"] + source["warnings"] + source["notes"]
        left = max(total, len(problems)) - len(problems[:SHOWN_PROBLEMS])
        if left > 0 and problems:
            yield "  more", f"{left:,}; --json has the first hundred, the backup itself all"


def _source(source: Json) -> str:
    line = f"{source['source']['path']}: {shapes.state(source['state'])}"
    if source["failure"]:
        line += f": {show_text(source['failure']['message'])}"
    if source["backup_id"]:
        line += f", backup {source['backup_id']}"
    gone_at = source.get("backup_gone_at")
    return f"{line}, which the repository holds no longer: seen at {shapes.exact(gone_at)}" if gone_at else line


def _problem(problem: Json) -> str:
    # Shown paths are escaped where they are made; showing them twice would double their backslashes.
    message = show_text(problem.get("message") or problem["code"].replace("_", " "))
    return f"{show_text(problem['path'])}: {message}"


def _following(run: Json) -> Rows:
    if run.get("followed_by"):
        yield "next", following(run)
