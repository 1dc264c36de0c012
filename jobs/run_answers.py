"""What the answers about runs and the queue hold, field by field (7.7).

Owns the forms that the API's description shows; jobs.representations fills them. Decides nothing.
"""

from typing import Final

from jobs.states import (
    BackupMode,
    CancelOrigin,
    FailureClass,
    HeldCode,
    Priority,
    RunKind,
    RunState,
    TaskState,
    Trigger,
)
from syncova_project.answer_shapes import (
    FLAG,
    ID,
    INSTANT,
    NUMBER,
    OPEN,
    TEXT,
    Form,
    listed,
    many,
    named,
    one_of,
    or_null,
    page,
    thing,
)

# Of a waiting run the phase is told apart: before admission, and after it.
PHASE: Final = one_of(("waiting", "admitted", *(state for state in RunState if state is not RunState.QUEUED)))
PLACE: Final = thing({"id": ID, "name": TEXT})
PATH: Final[dict[str, Form]] = {"path": TEXT}
EXACT: Final[dict[str, Form]] = {"path_base64": TEXT}
_FIGURES: Final = dict.fromkeys(("files", "skipped", "warnings", "logical_bytes", "bytes_read", "bytes_stored"), NUMBER)
HELD: Final = named(
    "Held",
    thing(
        {"code": one_of((*HeldCode, "not_before", "next_pass")), "subject": TEXT, "since": INSTANT, "sentence": TEXT},
        optional={"until": or_null(INSTANT)},
    ),
    "Why a run waits: a stable code, what it is about, since when, and all of it in words.",
    {
        "code": "window",
        "subject": "office hours",
        "until": "2026-11-30T17:00:00Z",
        "since": "2026-11-30T09:12:00Z",
        "sentence": "Waits until 2026-11-30 17:00:00 UTC: the blackout office hours holds it.",
    },
)
FAILURE: Final = named(
    "Failure",
    thing({"class": one_of(FailureClass), "code": TEXT, "message": TEXT, "hint": TEXT}),
    "Why something failed; the class alone decides whether it is tried again.",
    {
        "class": "configuration",
        "code": "REPOSITORY_FULL",
        "message": "The medium is full.",
        "hint": "Make room.",
    },
)
_RUN: Final[dict[str, Form]] = {
    "id": ID,
    "kind": one_of(RunKind),
    "state": one_of(RunState),
    "phase": PHASE,
    "job": or_null(PLACE),
    "repository": PLACE,
    "worker_group": TEXT,
    "trigger": one_of(Trigger),
    "requested_by": TEXT,
    "accept_new_root": FLAG,
    "ignore_windows": FLAG,
    "ignore_dependencies": FLAG,
    "attempt": NUMBER,
    "priority": one_of(Priority),
    "root_run": or_null(ID),
    "origin_run": or_null(ID),
    "created_at": INSTANT,
    "scheduled_for": INSTANT,
    "not_before": INSTANT,
    "admitted_at": or_null(INSTANT),
    "started_at": or_null(INSTANT),
    "finished_at": or_null(INSTANT),
    "delay_seconds": or_null(NUMBER),
    "postponed_seconds": NUMBER,
    "silent_since": or_null(INSTANT),
    "stalled_since": or_null(INSTANT),
    "held": or_null(HELD),
    "cancel": or_null(thing({"requested_at": INSTANT, "origin": one_of(CancelOrigin), "by": or_null(TEXT)})),
    "reason": TEXT,
    "reason_code": TEXT,
    "failure": or_null(FAILURE),
    **_FIGURES,
}
RUN: Final = named("Run", thing(_RUN), "A run as lists show it.")
QUEUED: Final = named(
    "QueuedRun", thing({"position": NUMBER, **_RUN}), "A run that waits, with its place in the whole queue."
)
_TASK: Final = thing(
    {
        "id": ID,
        "source": thing({"id": ID, **PATH}, optional=EXACT),
        "state": one_of(TaskState),
        "mode": or_null(one_of(BackupMode)),
        "backup_id": or_null(TEXT),
        "backup_gone_at": or_null(INSTANT),
        "parent_backup_id": or_null(TEXT),
        "manifest_id": or_null(TEXT),
        "started_at": or_null(INSTANT),
        "finished_at": or_null(INSTANT),
        "failure": or_null(FAILURE),
        "problems": many(OPEN),
        **_FIGURES,
        **dict.fromkeys(("directories", "links", "others", "notes", "new_chunks"), NUMBER),
    }
)
_FOLLOWER: Final = thing(
    {
        "id": ID,
        "trigger": one_of(Trigger),
        "attempt": NUMBER,
        "state": one_of(RunState),
        "phase": PHASE,
        "not_before": INSTANT,
        "held": or_null(HELD),
    }
)
RUN_PAGE: Final = named(
    "RunPage",
    thing(
        {
            **_RUN,
            "revision": or_null(NUMBER),
            "worker": TEXT,
            "heartbeat_at": or_null(INSTANT),
            "progress": or_null(OPEN),
            "progress_at": or_null(INSTANT),
            "log_truncated": FLAG,
            "parameters": or_null(OPEN),
            "result": or_null(OPEN),
            "findings": many(thing({"at": INSTANT, "sentence": TEXT})),
            "followed_by": or_null(_FOLLOWER),
            "sources": many(_TASK),
        }
    ),
    "A run with its sources, its progress, and what came of it.",
)
EVENTS: Final = listed(
    "events",
    thing(
        {
            "number": NUMBER,
            "at": INSTANT,
            "code": TEXT,
            "from": or_null(TEXT),
            "to": or_null(TEXT),
            "fence": or_null(NUMBER),
            "actor": or_null(TEXT),
            "parameters": OPEN,
        }
    ),
)
RUNS: Final = page("runs", RUN)
QUEUE: Final = page("queue", QUEUED, {"waiting": NUMBER})
