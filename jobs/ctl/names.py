"""From what a person types to an id: repositories, jobs and windows go by name (in any case) or by id.

Owns the look-up alone.
"""

import uuid
from typing import ClassVar

from jobs.ctl.api import Api, Json
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.engine.display import show_text


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
