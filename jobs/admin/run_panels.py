"""What the page of a run shows: what happened to it, its sources, their problems, the end of its log. Reads alone."""

import uuid
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, Final

from django.db.models import Sum

from jobs.admin.job_panels import changes_panel
from jobs.admin.marks import marked
from jobs.copy_origins import origin_shown
from jobs.listing import HeldSentences
from jobs.models import Run, RunLogChunk, TaskRun
from jobs.operation_serializers import shown_parameters
from jobs.run_log import LogTail
from jobs.selectors import (
    backups_gone,
    events_of,
    findings_of,
    follower_of,
    phase,
    silent_since,
    stalled_since,
    task_runs_of,
)
from jobs.sentences import reason_sentence
from jobs.states import ACTIVE_STATES, RunState
from repositories.engine.display import show_bytes, show_count
from repositories.models import Backup
from syncova_project.admin_pages.pages import address_of
from syncova_project.admin_pages.panels import Cell, Panel, link, plain, row

MOST_PROBLEMS: Final = 200
MOST_EVENTS: Final = 200
MOST_LINES: Final = 200


def run_headline(run: Run) -> list[str]:
    """Return how the run stands and why, what helps, and how far it is."""
    sentences = HeldSentences()
    lines = [marked(phase(run)), sentences.of(run) if run.state == RunState.QUEUED else reason_sentence(run)]
    if run.error_code:
        lines.append(f"{run.error_code} ({run.failure_class})")
    lines += [run.error_hint, _silence(run, sentences), _progress(run)]
    return [plain(line) for line in lines if line]


def run_panels(run: Run) -> list[Panel]:
    """Return the panels of a run's page: a fixed number of queries."""
    tasks = list(task_runs_of(run))
    sources = [_sources(run, tasks), _problems(tasks)] if run.job_id else []
    return [_about(run), *sources, _result(run), _events(run), _log(run), changes_panel("run", run.pk)]


def _about(run: Run) -> Panel:
    follower = follower_of(run)
    lines = [row("job", link(run.job.name, address_of("jobs.job", run.job_id)))] if run.job else []
    lines.append(row("repository", link(run.repository.name, address_of("repositories.repository", run.repository_id))))
    if run.origin_run_id:
        lines.append(row("because of the end of", link(run.origin_run_id, address_of("jobs.run", run.origin_run_id))))
    if follower is not None:
        told = f"attempt {follower.attempt}, {phase(follower)}"
        lines.append(row("followed by", link(told, address_of("jobs.run", follower.pk))))
    lines += [row("found", one.reason) for one in findings_of(run)]
    figures = f"{show_count(run.files, 'file')}, {show_bytes(run.logical_bytes)}, {run.skipped} skipped, "
    lines.append(
        row("figures", f"{figures}{show_count(run.warnings, 'warning')}, stored {show_bytes(run.bytes_stored)}")
    )
    return Panel("about", "In short", rows=lines)


def _sources(run: Run, tasks: list[TaskRun]) -> Panel:
    backups = {one.backup_id: one.pk for one in Backup.objects.filter(run_id=run.pk).only("backup_id")}
    gone = backups_gone(run)
    shown = [
        row(
            one.source.shown,
            marked(one.state),
            _backup(one.backup_id, backups, gone),
            one.files,
            one.skipped,
            one.warnings,
            show_bytes(one.bytes_stored),
            one.error_message,
            link("figures", address_of("jobs.taskrun", one.pk)),
        )
        for one in tasks
    ]
    headings = ("source", "state", "backup", "files", "skipped", "warnings", "stored", "why", "all")
    return Panel("sources", "Sources", headings, shown, "" if shown else "The run has not reached its sources.")


def _backup(backup_id: str, known: dict[str, uuid.UUID], gone: Collection[str]) -> Cell:
    if backup_id in known:
        return link(backup_id, address_of("repositories.backup", known[backup_id]))
    return Cell(f"{plain(backup_id)} (gone)" if backup_id in gone else plain(backup_id))


def _problems(tasks: list[TaskRun]) -> Panel:
    shown = [row(*one) for one, _ in zip(_told(tasks), range(MOST_PROBLEMS), strict=False)]
    every = sum(one.skipped + one.warnings + one.notes for one in tasks)
    note = f"There are {every:,} in all; the backup itself holds them." if every > len(shown) else ""
    return Panel(
        "problems", "Problems", ("what", "where", "why", "next step"), shown, note if shown else "None was told."
    )


def _told(tasks: list[TaskRun]) -> Iterator[tuple[Any, ...]]:
    for task in tasks:
        if task.error_code:
            yield "source", task.source.shown, f"{task.error_code}: {task.error_message}", task.error_hint
    for task in tasks:
        for one in task.problems:
            why = one.get("message") or str(one.get("code", "")).replace("_", " ")
            yield one.get("severity"), one.get("path"), why, ""


def _result(run: Run) -> Panel:
    """Return what a run without a job was asked to do, and what came of it."""
    if run.job_id:
        return Panel("result", "Outcome", rows=[row("why", reason_sentence(run))])
    asked = [row(f"asked: {name}", value) for name, value in shown_parameters(origin_shown(run.parameters)).items()]
    told = [row(name.replace("_", " "), value) for name, value in run.reason_parameters.items()]
    return Panel("result", "Order and outcome", rows=[*asked, *told], note="" if asked or told else "Nothing yet.")


def _events(run: Run) -> Panel:
    found = events_of(run)[:MOST_EVENTS]
    shown = [
        row(one.at, one.code.replace("_", " "), _move(one.from_state, one.to_state), one.actor, one.parameters)
        for one in found
    ]
    return Panel(
        "events", "What happened", ("at", "event", "state", "by", "details"), shown, "" if shown else "Nothing."
    )


def _move(before: str, after: str) -> str:
    if not after:
        return ""
    return marked(after) if not before or before == after else f"{marked(before)} to {marked(after)}"


def _log(run: Run) -> Panel:
    written = RunLogChunk.objects.filter(run_id=run.pk).aggregate(lines=Sum("lines"))["lines"] or 0
    left = max(0, written - MOST_LINES)
    lines = [line for _, line in islice(LogTail(run.pk, left).lines(), MOST_LINES)]
    shown = [row(one.at, one.level, one.message) for one in lines]
    notes = ["" if shown else "It has no line."]
    if left:
        notes.append(f"These are the last {len(shown)} lines, {left:,} come before: ./syncova ctl run log {run.pk}")
    if run.log_truncated:
        notes.append("The log was cut: it had reached its bound.")
    return Panel("log", "Log", ("at", "level", "line"), shown, " ".join(filter(None, notes)))


def _silence(run: Run, sentences: HeldSentences) -> str:
    silent, stalled = silent_since(run, sentences.now), stalled_since(run, sentences.now)
    if silent is not None:
        return f"No sign of life since {plain(silent)}."
    return "" if stalled is None else f"No progress since {plain(stalled)}."


def _progress(run: Run) -> str:
    told = run.progress
    if run.state not in ACTIVE_STATES or not isinstance(told, dict):
        return ""
    read, stored = show_bytes(int(told.get("bytes_read", 0))), show_bytes(int(told.get("bytes_stored", 0)))
    return f"{told.get('phase', '')}: {show_count(int(told.get('files', 0)), 'file')}, {read} read, {stored} stored"
