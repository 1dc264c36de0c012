"""The Celery tasks: each takes ids, calls one function and returns nothing.

Owns the names of the messages' receivers. Rules live where they are called; a task that finds its row already
taken does nothing, so a message may come twice or late.
"""

import uuid

from jobs.tick import run_pass
from syncova_project.celery import TICK_TASK, app
from syncova_project.schema.guard import require_fitting_schema
from workers.database import attempt
from workers.doorbell import EXECUTE_TASK, INSPECT_TASK, LOOKUP_TASK
from workers.lookups import look
from workers.operations import inspect
from workers.supervisor import supervise


@app.task(name=TICK_TASK)
def tick() -> None:
    """One pass of the scheduler (A1); while the database is away there is nothing to pass over."""
    attempt(_pass)


def _pass() -> None:
    # Where the database was away when this process began, it is looked at now.
    require_fitting_schema()
    run_pass()


@app.task(name=EXECUTE_TASK)
def execute_run(run_id: str, fence: int) -> None:
    """Execute an admitted run under its fence."""
    supervise(uuid.UUID(run_id), fence)


@app.task(name=INSPECT_TASK)
def inspect_repository(repository_id: str) -> None:
    """Open a registered repository and adopt its id (A10)."""
    inspect(uuid.UUID(repository_id))


@app.task(name=LOOKUP_TASK)
def look_into_backup(lookup_id: str) -> None:
    """Look for what somebody wants to see inside a backup."""
    look(uuid.UUID(lookup_id))
