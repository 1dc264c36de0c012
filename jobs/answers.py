"""What the answers about jobs, their schedules and windows hold, field by field (7.7).

Owns the forms that the API's description shows; jobs.representations fills them. Decides nothing.
"""

from typing import Final

from jobs.run_answers import EXACT, HELD, PATH, PHASE, PLACE
from jobs.states import (
    DecisionOutcome,
    HookMoment,
    MissedPolicy,
    Priority,
    RunKind,
    RunState,
    ScheduleState,
    SourceType,
    WindowKind,
)
from jobs.windows import BlockCode
from jobs.windows.parsing import DAYS
from syncova_project.answer_shapes import (
    FLAG,
    ID,
    INSTANT,
    NUMBER,
    OPEN,
    TEXT,
    listed,
    many,
    named,
    one_of,
    or_null,
    page,
    thing,
)

_BLOCK: Final = thing({"code": one_of(BlockCode), "name": TEXT})

WINDOW: Final = named(
    "Window",
    thing(
        {
            "id": ID,
            "name": TEXT,
            "repository_id": or_null(ID),
            "job_id": or_null(ID),
            "type": one_of(WindowKind),
            "kinds": many(one_of(RunKind)),
            "created_at": INSTANT,
        },
        optional={
            "days": many(one_of(DAYS)),
            "start": TEXT,
            "length_seconds": NUMBER,
            "time_zone": TEXT,
            "starts_at": INSTANT,
            "ends_at": INSTANT,
            "warnings": many(TEXT),
        },
    ),
    "When runs may start or may not; `warnings` only in answers to what has just been saved.",
)
_SCHEDULE_FIELDS: Final = {
    "id": ID,
    "description": TEXT,
    "next_run_at": or_null(INSTANT),
    "missed": one_of(MissedPolicy),
    "missed_within_seconds": or_null(NUMBER),
    "state": one_of(ScheduleState),
    "state_reason": TEXT,
}
_SCHEDULE: Final = {
    "type": "object",
    "additionalProperties": True,
    "description": "The fields of its kind as they were sent, and what has become of them.",
    "properties": _SCHEDULE_FIELDS,
    "required": list(_SCHEDULE_FIELDS),
}
_SOURCE: Final = thing({"id": ID, "type": one_of(SourceType), **PATH, "exclude_patterns": many(TEXT)}, optional=EXACT)
_ACTIVE: Final = thing(
    {
        "id": ID,
        "state": one_of(RunState),
        "phase": PHASE,
        "since": INSTANT,
        "silent_since": or_null(INSTANT),
        "stalled_since": or_null(INSTANT),
        "held": or_null(HELD),
    }
)
JOB: Final = named(
    "Job",
    thing(
        {
            "id": ID,
            "name": TEXT,
            "status": one_of(("active", "paused")),
            "paused_at": or_null(INSTANT),
            "repository": PLACE,
            "worker_group": TEXT,
            "sources": many(_SOURCE),
            "schedules": many(_SCHEDULE),
            "schedule_description": TEXT,
            "next_run_at": or_null(INSTANT),
            "next_start_at": or_null(INSTANT),
            "next_start_window": or_null(_BLOCK),
            "priority": one_of(Priority),
            "bandwidth_limit_bps": or_null(NUMBER),
            "strict": FLAG,
            "max_attempts": NUMBER,
            "rpo_seconds": or_null(NUMBER),
            "start_deadline_seconds": or_null(NUMBER),
            "max_runtime_seconds": or_null(NUMBER),
            "hooks": many(OPEN | {"properties": {"moment": one_of(HookMoment), "name": TEXT}}),
            "depends_on": many(PLACE),
            "unseen_dependencies": NUMBER,
            "revision": NUMBER,
            "created_at": INSTANT,
            "updated_at": INSTANT,
            "active_run": or_null(_ACTIVE),
            "last_run": or_null(thing({"id": ID, "state": one_of(RunState), "finished_at": or_null(INSTANT)})),
            "last_succeeded_at": or_null(INSTANT),
        },
        optional={"windows": many(WINDOW)},
    ),
    "A job; `windows`, those of its own, only where one job is shown.",
)
DECISION: Final = named(
    "Decision",
    thing(
        {
            "schedule_id": ID,
            "first_at": INSTANT,
            "last_at": INSTANT,
            "count": NUMBER,
            "count_is_minimum": FLAG,
            "outcome": one_of(DecisionOutcome),
            "reason_code": TEXT,
            "sentence": TEXT,
            "run_id": or_null(ID),
        }
    ),
    "What became of planned instants that are no runs of their own, both ends included.",
)
SCHEDULE_EVENT: Final = thing(
    {
        "schedule_id": ID,
        "at": INSTANT,
        "code": TEXT,
        "parameters": OPEN,
        "actor": or_null(TEXT),
        "sentence": TEXT,
    }
)
REVISION: Final = thing(
    {"number": NUMBER, "created_at": INSTANT, "created_by": TEXT, "changed": many(TEXT), "job": OPEN}
)
UPKEEP: Final = named(
    "UpkeepPlan",
    thing(
        {
            "id": ID,
            "kind": one_of(RunKind),
            # A row that another program has written may hold no object; its sentence says so.
            "schedule": {},
            "description": TEXT,
            "order": OPEN,
            "next_run_at": or_null(INSTANT),
            "state_reason": TEXT,
            "created_at": INSTANT,
            "decisions": many(
                thing(
                    {
                        "first_at": INSTANT,
                        "last_at": INSTANT,
                        "count": NUMBER,
                        "outcome": one_of(DecisionOutcome),
                        "reason_code": TEXT,
                        "run_id": or_null(ID),
                    }
                )
            ),
        }
    ),
    "When a kind of a repository's upkeep is due, and what its runs are asked.",
)
VALIDATION: Final = thing({"valid": FLAG, "errors": {"type": "object", "additionalProperties": many(TEXT)}})
PREVIEW: Final = thing(
    {
        "descriptions": many(TEXT),
        "instants": many(
            thing(
                {"utc": INSTANT, "local": TEXT, "notes": many(TEXT)},
                optional={"window": _BLOCK, "starts_at": or_null(INSTANT), "merges_into": INSTANT},
            )
        ),
    },
    optional={"paused": FLAG},
)
WINDOW_PREVIEW: Final = thing(
    {
        "openings": many(thing({"starts_at": INSTANT, "ends_at": INSTANT})),
        "moved": many(thing({"job": PLACE, "planned": INSTANT, "starts_at": or_null(INSTANT)})),
        "warnings": many(TEXT),
    }
)
JOBS: Final = page("jobs", JOB)
_OF_JOB: Final = thing({"id": ID, "name": TEXT, "status": one_of(("active", "paused"))})
SCHEDULES: Final = page(
    "schedules",
    _SCHEDULE | {"properties": {**_SCHEDULE_FIELDS, "job": _OF_JOB}, "required": [*_SCHEDULE_FIELDS, "job"]},
)
WINDOWS: Final = page("windows", WINDOW)
DECISIONS: Final = page("decisions", DECISION)
SCHEDULE_EVENTS: Final = page("events", SCHEDULE_EVENT)
REVISIONS: Final = page("revisions", REVISION)
UPKEEP_PLANS: Final = listed("upkeep", UPKEEP)
