"""Sentences about runs, made when they are read: codes and parameters are stored, words are not (gettext, English now).

Owns why a run waits (C3), why it ended (A11) and what a decision means (H7). Counts "n of n" are read with them.
"""

import datetime as dt
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.dependency_sentences import HELD_BY_JOBS
from jobs.flags import NO_FREE_INSTANT
from jobs.models import RepositoryBreaker, Run, Schedule, ScheduleDecision, Source
from jobs.retries import operation_attempts
from jobs.states import HeldCode, RunKind, RunState, ScheduleState, Trigger
from jobs.unrun_hooks import undone_sentence
from jobs.warned_hooks import warned_sentence
from jobs.window_rows import read_subject
from jobs.windows import BlockCode
from repositories.models import RepositoryFreeze
from syncova_project import clock

# The engine's kinds of problems that skip an object; a strict job's warnings skip too.
REASONS: Final[Mapping[str, Callable[[], str]]] = {
    "permission": lambda: _("no read permission"),
    "io_error": lambda: _("read error"),
    "type_changed": lambda: _("replaced while it was read"),
    "path_too_long": lambda: _("path too long"),
    "duplicate_name": lambda: _("name listed twice"),
    "unknown_type": lambda: _("unknown type of file"),
    "still_changing": lambda: _("kept changing while it was read"),
    "attribute": lambda: _("attributes could not be read"),
    "parent_unreadable": lambda: _("the earlier backup could not be read"),
    "mounted": lambda: _("the block device was mounted while it was read"),
    "content_changed": lambda: _("content changed behind unchanged times"),
    "not_read_again": lambda: _("could not be read again"),
    "SOURCE_MISSING": lambda: _("source missing"),
    "SOURCE_VANISHED": lambda: _("source vanished while it was read"),
    "SOURCE_EMPTY": lambda: _("source suddenly empty"),
    "SOURCE_UNMOUNTED": lambda: _("source not mounted"),
    "unmounted": lambda: _("a file system in the source is not mounted"),
    "leftovers": lambda: _("something else in place of a file system that is not mounted"),
    "SOURCE_NOT_ALLOWED": lambda: _("source outside the allowed directories"),
    "HOOK_SKIPPED": lambda: _("source left out by a hook"),
    "HOOK_FAILED": lambda: _("a hook before the source failed"),
    "kept": lambda: _("something else was there and was kept"),
    "failed": lambda: _("could not be written"),
    "undeleted": lambda: _("could not be deleted"),
    "collided": lambda: _("the target takes its name for another one's"),
    "spared": lambda: _("deletion held off meanwhile"),
    "lost_manifests": lambda: _("a damaged backup may be newer"),
    "SOURCE_NOT_REPORTED": lambda: _("source not reported by its worker"),
}

# What somebody may confirm as the new state of a source (2.6).
_ACCEPTABLE: Final = frozenset({"SOURCE_EMPTY", "SOURCE_UNMOUNTED", "unmounted", "leftovers"})


def held_sentence(run: Run) -> str:
    """Return why a waiting run waits, "" when it does not."""
    if is_unseen(run):
        return _("Waits for the scheduler's next pass.")
    if run.state != RunState.QUEUED or not run.held_code:
        return ""
    return _HELD[HeldCode(run.held_code)](run)


def is_unseen(run: Run) -> bool:
    """Tell whether a run waits and no pass has looked at it yet."""
    return run.state == RunState.QUEUED and run.admitted_at is None and not run.held_code


def is_postponed(run: Run, now: dt.datetime) -> bool:
    """Tell whether a run waits for its time alone: no pass looks at it before."""
    return run.state == RunState.QUEUED and run.admitted_at is None and run.not_before > now


def postponed_sentence(run: Run) -> str:
    """Return until when a postponed run waits; a retry names its number and what went wrong before it."""
    told = {"at": run.not_before.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC"), "attempt": run.attempt}
    if run.held_code == HeldCode.WINDOW:
        return held_sentence(run)
    if run.trigger != Trigger.RETRY:
        return _("Waits for its time: %(at)s.") % told
    told["most"] = run.job.max_attempts if run.job else operation_attempts(RunKind(run.kind))
    told["code"] = (run.origin_run.error_code if run.origin_run else "") or _("a failure")
    return _("Waits: attempt %(attempt)d of %(most)d starts at %(at)s, after %(code)s.") % told


def reason_sentence(run: Run) -> str:
    """Return why a run ended as it did, and which of its hooks warned; "" while it has not."""
    return f"{_reason_of(run)}{warned_sentence(run.reason_parameters)}".strip()


def _reason_of(run: Run) -> str:
    if run.error_message:
        return run.error_message
    if run.reason_code == "objects_skipped":
        return f"{_skipped_sentence(run.reason_parameters)}{_acceptance(run)}"
    if run.reason_code == "repository_swapped":
        observed = run.reason_parameters.get("observed", "")
        return _("The repository was swapped: the run met %(observed)s in place of the registered one.") % {
            "observed": observed
        }
    if run.state == RunState.CANCELLED:
        return f"{_cancelled_sentence(run)}{undone_sentence(run.reason_parameters)}"
    return _("Completed.") if run.state == RunState.SUCCEEDED else ""


def window_sentence(subject: str) -> str:
    """Return which window holds a run and until when, from what jobs.window_rows made of it."""
    code, until, name = read_subject(subject)
    told = {"name": name, "at": until.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if until else ""}
    if until is None:
        return _("Waits: windows such as %(name)s leave no free instant within 31 days.") % told
    if code == BlockCode.BLACKOUT:
        return _("Waits until %(at)s: the blackout %(name)s holds it.") % told
    return _("Waits until %(at)s: it may start only within windows such as %(name)s.") % told


def flag_sentence(schedule: Schedule) -> str:
    """Return why a flagged schedule plans nothing, "" for one that does."""
    if schedule.state != ScheduleState.FLAGGED:
        return ""
    if schedule.state_code == NO_FREE_INSTANT:
        return window_sentence(str(schedule.state_parameters.get("held", "")))
    return _("Cannot be planned: %(message)s") % {"message": schedule.state_parameters.get("message", "")}


def decision_sentence(decision: ScheduleDecision) -> str:
    """Return what became of the instants of a decision."""
    count = decision.count
    many = (
        ngettext("at least %(n)d planned run", "at least %(n)d planned runs", count)
        if decision.count_is_minimum
        else ngettext("%(n)d planned run", "%(n)d planned runs", count)
    )
    reasons = {
        "missed": _("skipped: nothing ran the scheduler then; only the newest of the due instants became a run"),
        "job_active": _("merged into the job's run that had not ended"),
        "ran_before_restore": _("ran before the database was restored from a dump: their backups are there"),
        "job_paused": _("not run: the job was paused"),
        "job_deleted": _("not run: the job was deleted"),
        "schedule_changed": _("not run: the schedule was changed"),
        "unplannable": _("not run: the schedule could not be planned"),
        "missed_never": _("skipped: nothing ran the scheduler then, and the schedule never runs late"),
        "missed_too_long": _(
            "expired: nothing ran the scheduler then, and it is longer ago than the schedule runs late"
        ),
        "window": _postponed(decision.parameters),
        "no_free_instant": _("not run: windows leave no free instant within 31 days"),
        "unknown_zone": _("not run: the zone data did not know the schedule's time zone yet"),
    }
    return f"{many % {'n': count}} {reasons.get(decision.reason_code, decision.reason_code)}."


def _postponed(parameters: Mapping[str, Any]) -> str:
    _code, until, name = read_subject(str(parameters.get("held", "")))
    told = {"name": name, "at": until.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if until else ""}
    return _("postponed to %(at)s by the window %(name)s") % told


def _skipped_sentence(told: Mapping[str, Any]) -> str:
    """Say how many and why; reasons are counted over the problems that a run keeps, so some may have none."""
    count = int(told.get("skipped", 0))
    sentence = ngettext("%(n)d object skipped", "%(n)d objects skipped", count) % {"n": count}
    counted: dict[str, int] = dict(told.get("reasons", {}))
    if not counted:
        return f"{sentence}."
    if len(counted) == 1:
        return f"{sentence}: {_reason(next(iter(counted)))}."
    reasons = [f"{_reason(code)} ({n})" for code, n in counted.items()]
    others = [_("others")] if sum(counted.values()) < count else []
    return f"{sentence}: {', '.join(reasons + others)}."


def _acceptance(run: Run) -> str:
    """Return the next step where something may be missing or may be meant to be, "" elsewhere."""
    if run.job is None or _ACCEPTABLE.isdisjoint(run.reason_parameters.get("reasons", {})):
        return ""
    told = {"command": f"./syncova ctl job run {shlex.quote(run.job.name)} --accept-new-root"}
    return " " + _("Mount what is missing and run it again, or confirm once that it is meant: %(command)s") % told


def _reason(code: str) -> str:
    return REASONS[code]() if code in REASONS else code.replace("_", " ").lower()


def _cancelled_sentence(run: Run) -> str:
    origins = {
        "user": _("Cancelled by %(actor)s.") % {"actor": run.cancelled_by or _("a person")},
        "shutdown": _shut_down(run),
        "hook": _by_hook(run.reason_parameters),
        "job_paused": _("Cancelled because its job was paused by %(actor)s.") % {"actor": run.cancelled_by},
        "job_deleted": _("Cancelled because its job was deleted by %(actor)s.") % {"actor": run.cancelled_by},
    }
    return origins.get(run.cancel_origin, _("Cancelled."))


def _by_hook(told: Mapping[str, Any]) -> str:
    """Return which hook said that there is nothing to do; runs of earlier versions have it in their logs alone."""
    if not told.get("hook"):
        return _("Not run: a hook of its job said that there is nothing to do now; the log names it.")
    if told.get("sources", 0) > 1:
        sentence = _(
            "Not run: for each of its %(sources)d sources a hook said that there is nothing to do now. %(hook)s"
        )
        return sentence % told
    return _("Not run: there is nothing to do now. %(hook)s") % told


def _repository_limit(run: Run) -> str:
    taken = _active().filter(repository_id=run.repository_id, kind__in=("backup", "prune", "forget", "copy")).count()
    told = {"name": run.repository.name, "taken": taken, "limit": run.repository.max_concurrent_runs}
    return _("Waits for the repository %(name)s: %(taken)d of %(limit)d runs.") % told


def _source_limit(run: Run) -> str:
    source = Source.objects.filter(runner_id=run.runner_id, shown=run.held_subject).first()
    taken = _active().filter(task_runs__source=source).count() if source else 0
    told = {"name": run.held_subject, "taken": taken, "limit": source.max_concurrent_runs if source else 1}
    return _("Waits for the source %(name)s: %(taken)d of %(limit)d runs.") % told


def _shut_down(run: Run) -> str:
    if run.reason_parameters.get("requeued") is False:
        return _("Cancelled because its worker was shut down; it is not queued again.")
    return _("Cancelled because its worker was shut down; it is queued again.")


def _installation_limit(run: Run) -> str:
    told = {"taken": _active().exclude(kind="restore").count(), "limit": settings.SYNCOVA_GLOBAL_LIMIT}
    return _("Waits for the installation's limit: %(taken)d of %(limit)d runs.") % told


def _frozen(run: Run) -> str:
    opened = RepositoryFreeze.objects.filter(repository_id=run.repository_id, cleared_at__isnull=True)
    # Of several the oldest, as everywhere that one reason is told.
    row = opened.order_by("frozen_at", "id").first()
    told = {"name": run.repository.name, "reason": row.reason if row else ""}
    return _("Waits because the repository %(name)s is frozen: %(reason)s") % told


def _breaker(run: Run) -> str:
    row = RepositoryBreaker.objects.filter(repository_id=run.repository_id, open_until__isnull=False).first()
    if row is None or row.open_until is None:
        return _("Waits because the repository %(name)s kept failing.") % {"name": run.held_subject}
    told = {"name": run.held_subject, "count": row.failures, "code": row.error_code}
    if row.open_until <= clock.now():
        return _("Waits while a run tries the repository %(name)s, which failed %(count)d times: %(code)s.") % told
    told["at"] = row.open_until.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return _("Waits until %(at)s: the repository %(name)s failed %(count)d times in a row, last with %(code)s.") % told


def _no_worker(run: Run) -> str:
    told = {"group": run.held_subject}
    if run.runner.processes.filter(drain_requested=True).exists():
        return _("Waits for a worker of the group %(group)s: those that are there are drained.") % told
    if run.runner.dead_since is None:
        return _("Waits for a worker of the group %(group)s: none is there.") % told
    told["at"] = run.runner.dead_since.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return _("Waits for a worker of the group %(group)s: none is there since %(at)s.") % told


def _active() -> Any:
    return Run.objects.filter(finished_at__isnull=True, admitted_at__isnull=False)


def _of(text: Callable[[], str]) -> Callable[[Run], str]:
    return lambda run: text() % {"subject": run.held_subject}


_HELD: Final[Mapping[HeldCode, Callable[[Run], str]]] = {
    HeldCode.JOB_PAUSED: _of(lambda: _("Waits because its job is paused.")),
    HeldCode.WINDOW: lambda run: window_sentence(run.held_subject),
    HeldCode.FROZEN: _frozen,
    HeldCode.BREAKER: _breaker,
    HeldCode.REPOSITORY_NOT_READY: _of(lambda: _("Waits until the repository %(subject)s has been opened.")),
    HeldCode.REPOSITORY_LIMIT: _repository_limit,
    HeldCode.SERIAL_GATE: _of(lambda: _("Waits until nothing else runs or is to be retried on %(subject)s.")),
    HeldCode.SOURCE_LIMIT: _source_limit,
    HeldCode.SOURCE_RESERVED: _of(lambda: _("Waits because a run that waited longer comes first for %(subject)s.")),
    HeldCode.GLOBAL_LIMIT: _installation_limit,
    HeldCode.NO_WORKER: _no_worker,
    HeldCode.NO_SLOT: _of(lambda: _("Waits for a free slot of the group %(subject)s.")),
    HeldCode.RESTORE_SLOT: _of(lambda: _("Waits: the last free slot of the group %(subject)s is kept for restores.")),
    HeldCode.NOT_TAKEN: _of(lambda: _("Was admitted, but no worker took it within a minute.")),
    HeldCode.UNSTARTABLE: _of(lambda: _("Was not admitted: the stored revision of its job cannot be read.")),
    **HELD_BY_JOBS,
}
