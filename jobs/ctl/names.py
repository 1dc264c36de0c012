"""From what a person types to an id: repositories, jobs and windows go by name (in any case) or by id.

Owns the look-up alone.
"""

import uuid
from itertools import islice
from typing import ClassVar, Final

from jobs.ctl.api import Api, Json
from jobs.ctl.refusals import RefusedError
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.engine.display import show_text

_MOST_RUNS: Final = 2000


class NameUnknownError(CommandError):
    """Nothing has the given name or id."""

    code: ClassVar[str] = "NAME_UNKNOWN"
    exit_code: ClassVar[int] = exits.FAILED


def find_repository(api: Api, name: str) -> Json:
    """Return the repository with this name or id."""
    found: list[Json] = api.get("repositories")["repositories"]
    for repository in found:
        if repository["id"] == name.lower() or _same(repository["name"], name):
            return repository
    known = ", ".join(show_text(repository["name"]) for repository in found) or "none"
    raise NameUnknownError(f"there is no repository {show_text(name)}", hint=f"registered: {known}")


def find_job(api: Api, name: str) -> Json:
    """Return the job with this name or id."""
    if is_id(name):
        return api.get(f"jobs/{name}")
    for job in api.every("jobs", "jobs", {"search": name, "limit": 200} if len(name) <= 200 else None):
        if _same(job["name"], name):
            return job
    raise NameUnknownError(f"there is no job {show_text(name)}", hint="list them with: ./syncova ctl job list")


def remembered_job(api: Api, name: str) -> str:
    """Return the id of the job with this name or id, be it deleted: what it did stays to be read.

    A name is that of a job that there is, or else of a deleted one that the newest runs tell of.
    """
    if is_id(name):
        # One that never was has no revision, a deleted one has.
        api.get(f"jobs/{name}/revisions", {"limit": 1})
        return name.lower()
    try:
        return str(find_job(api, name)["id"])
    except NameUnknownError:
        found = _deleted_jobs(api, name)
        if not found:
            raise
        if len(found) > 1:
            several = f"there is no job {show_text(name)} any more, and several deleted ones had this name"
            raise NameUnknownError(several, hint=f"give an id: {', '.join(found)}") from None
        return found[0]


def _deleted_jobs(api: Api, name: str) -> list[str]:
    """Return the ids of deleted jobs that had a name, newest first, as far as a look through the newest runs tells."""
    try:
        runs = islice(api.every("runs", "runs", {"search": name[:200], "limit": 200}), _MOST_RUNS)
        named = [run["job"] for run in runs if run["job"] and _same(run["job"]["name"], name)]
    except RefusedError:
        # Who may not read runs is told what they asked for: that there is no such job.
        return []
    return list(dict.fromkeys(str(job["id"]) for job in named))


def find_window(api: Api, name: str) -> Json:
    """Return the window with this name or id."""
    if is_id(name):
        return api.get(f"windows/{name}")
    for window in api.every("windows", "windows", {"limit": 200}):
        if _same(window["name"], name):
            return window
    raise NameUnknownError(f"there is no window {show_text(name)}", hint="list them with: ./syncova ctl window list")


def run_path(run_id: str) -> str:
    """Return the API's path of a run, refusing what is no id."""
    if not is_id(run_id):
        raise NameUnknownError(f"{show_text(run_id)} is no id of a run", hint="list them with: ./syncova ctl run list")
    return f"runs/{run_id}"


def is_id(text: str) -> bool:
    """Say whether the text has the form of an id."""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
