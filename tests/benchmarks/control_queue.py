"""What `./syncova bench control` measures of the queue: admissions over many waiting runs, lists over a long history.

Owns the calls and how they are told (6.12). Lists are what the API answers, from the query to the JSON; nothing of it
counts or skips rows of history, which a test holds against the plans of the database.
"""

import datetime as dt
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from jobs.admission import admit_waiting
from jobs.listing import JOB_ORDERINGS, RUN_ORDERINGS, HeldSentences, jobs_matching
from jobs.models import Job
from jobs.representations import job_json, run_json
from jobs.searching import read_runs
from syncova_project.paging import Ordering, PageRequest, read_page
from tests.benchmarks.control import backend_of, cpu_seconds
from tests.benchmarks.history_rows import NOW, make_slots

_TIMES: Final = 40


@dataclass(frozen=True, slots=True)
class _Taken:
    """Seconds of one answer: by the wall, and of the processor, here and in the database, which load leaves alone."""

    wall: float
    process: float
    backend: float


def admissions() -> list[str]:
    """Return what admissions take: the first, which says why each run waits, later ones, and ones that admit."""
    first = _taken(lambda: admit_waiting(now=NOW))
    again = [_taken(lambda: admit_waiting(now=NOW)) for _ in range(20)]
    make_slots(40)
    admitting = _taken(lambda: admit_waiting(now=NOW + dt.timedelta(seconds=1)))
    told = {"the first": [first], "unchanged": again, "with 40 slots free": [admitting]}
    return [f"admission, {name}: {_told(taken)}" for name, taken in told.items()]


def lists(jobs: Sequence[Job]) -> list[str]:
    """Return what pages of lists take, by filter, from the first page to a deep one."""
    filters: dict[str, dict[str, Any]] = {
        "all runs": {},
        "failed runs": {"status": "failed"},
        "running": {"status": "running"},
        "restores": {"kind": "restore"},
        "of a repository": {"repository": jobs[0].repository_id},
        "of a job": {"job": jobs[0].id},
        "failed of a job": {"job": jobs[0].id, "status": "failed"},
        "of jobs by name, few": {"search": "queued 4321"},
        "of jobs by name, some": {"search": "queued 43"},
        "of jobs by name, all": {"search": "queued"},
        "an error that many have": {"search": "unreachable"},
        "an error that some have": {"search": "on disk 17"},
        "an error that one has": {"search": "request 90 "},
        "what none has": {"search": "nothing like this"},
    }
    told = [f"run list, {name}: {_told(_pages(each))}" for name, each in filters.items()]
    by_name = JOB_ORDERINGS["name"]
    return [*told, f"job list: {_told([_taken(lambda: _job_page(by_name)) for _ in range(_TIMES)])}"]


def _pages(filters: dict[str, Any]) -> list[_Taken]:
    """Return what many pages took, each after the other; from the beginning again at the end."""
    taken, cursors = [], [""]
    for _ in range(_TIMES):
        taken.append(_taken(lambda: cursors.append(_run_page(filters, cursors[-1]))))
    return taken


def _run_page(filters: dict[str, Any], cursor: str) -> str:
    page = read_runs(filters, PageRequest(RUN_ORDERINGS["-created_at"], filters, cursor, 50))
    sentences = HeldSentences()
    for run in page.rows:
        run_json(run, sentences)
    return page.next_cursor or ""


def _job_page(ordering: Ordering) -> None:
    page, sentences = read_page(jobs_matching({}), PageRequest(ordering, {}, "", 50)), HeldSentences()
    for job in page.rows:
        job_json(job, sentences)


def _taken(work: Callable[[], object]) -> _Taken:
    pid = backend_of(connection)
    begun, process, backend = time.monotonic(), time.process_time(), cpu_seconds(pid)
    work()
    return _Taken(time.monotonic() - begun, time.process_time() - process, cpu_seconds(pid) - backend)


def _told(taken: Sequence[_Taken]) -> str:
    ordered = sorted(one.wall for one in taken)
    process = statistics.median(one.process for one in taken)
    # A backend's time is told in steps of ten milliseconds.
    backend = statistics.mean(one.backend for one in taken)
    p95 = ordered[int(len(ordered) * 0.95)]
    spent = f"processor time {_ms(process)} and {_ms(backend)} in the database"
    return f"median {_ms(statistics.median(ordered))}, p95 {_ms(p95)}; {spent}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
