"""What `./syncova bench control` measures of the queue: admissions over many waiting runs, lists over a long history.

Owns the calls and how they are told (6.12). Lists are what the API answers, from the query to the JSON; nothing of it
counts or skips rows of history, which a test holds against the plans of the database.
"""

import datetime as dt
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from jobs.admission import admit_waiting
from jobs.listing import JOB_ORDERINGS, RUN_ORDERINGS, HeldSentences, jobs_matching, runs_matching
from jobs.models import Job
from jobs.representations import job_json, run_json
from syncova_project.paging import Ordering, PageRequest, read_page
from tests.benchmarks.history_rows import NOW, make_slots

_TIMES: Final = 40


def admissions() -> list[str]:
    """Return what admissions take: the first, which says why each run waits, later ones, and ones that admit."""
    first = _seconds(lambda: admit_waiting(now=NOW))
    again = [_seconds(lambda: admit_waiting(now=NOW)) for _ in range(10)]
    make_slots(40)
    admitting = _seconds(lambda: admit_waiting(now=NOW + dt.timedelta(seconds=1)))
    return [
        f"admission, the first: {_ms(first)}; unchanged: {_told(again)}; with 40 slots free: {_ms(admitting)}",
    ]


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
    }
    told = [f"{name}: {_told(_pages(each))}" for name, each in filters.items()]
    by_name = JOB_ORDERINGS["name"]
    jobs_told = _told([_seconds(lambda: _job_page(by_name)) for _ in range(_TIMES)])
    return [f"run list, {', '.join(told)}", f"job list: {jobs_told}"]


def _pages(filters: dict[str, Any]) -> list[float]:
    """Return the seconds of many pages, each after the other; from the beginning again at the end."""
    taken, cursor = [], ""
    for _ in range(_TIMES):
        begun = time.monotonic()
        page = read_page(runs_matching(filters), PageRequest(RUN_ORDERINGS["-created_at"], filters, cursor, 50))
        sentences = HeldSentences()
        for run in page.rows:
            run_json(run, sentences)
        taken.append(time.monotonic() - begun)
        cursor = page.next_cursor or ""
    return taken


def _job_page(ordering: Ordering) -> None:
    page, sentences = read_page(jobs_matching({}), PageRequest(ordering, {}, "", 50)), HeldSentences()
    for job in page.rows:
        job_json(job, sentences)


def _seconds(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def _told(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    return f"median {_ms(statistics.median(ordered))}, p95 {_ms(ordered[int(len(ordered) * 0.95)])}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
