"""Reads of repositories for the API, the admin and the other apps.

Owns which rows are visible and what is loaded with them, so that lists cost a fixed number of queries. Writes nothing.
"""

import contextlib
import datetime as dt
import logging
import uuid

from django.conf import settings
from django.db.models import Prefetch, Q, QuerySet

from repositories.acceptance import Refusal, refusal_of
from repositories.errors import RepositoryUnknownError
from repositories.models import Repository, RepositoryFreeze, RepositoryState
from syncova_project.access.visibility import within_sight

log = logging.getLogger(__name__)


def repositories_visible() -> QuerySet[Repository]:
    """Return the repositories that the caller sees, by name, with their open freezes (two queries in all)."""
    open_freezes = RepositoryFreeze.objects.filter(cleared_at__isnull=True).order_by("id")
    seen = within_sight(Repository.objects.all(), "worker_group")
    return seen.prefetch_related(Prefetch("freezes", queryset=open_freezes, to_attr="open_freezes"))


def repository_get(repository_id: uuid.UUID) -> Repository:
    """Return one repository with its open freezes, or raise RepositoryUnknownError."""
    repository = repositories_visible().filter(pk=repository_id).first()
    if repository is None:
        raise RepositoryUnknownError(
            f"There is no repository {repository_id}.",
            hint="List them with: ./syncova ctl repository list",
            details={"repository": str(repository_id)},
        )
    return repository


def repository_named(word: str) -> Repository:
    """Return the repository with this name, in any case, or this id; raises RepositoryUnknownError."""
    named = Q(name__iexact=word)
    with contextlib.suppress(ValueError):
        named |= Q(pk=uuid.UUID(word))
    repository = repositories_visible().filter(named).first()
    if repository is None:
        known = ", ".join(repositories_visible().values_list("name", flat=True)[:20]) or "none"
        raise RepositoryUnknownError(f"There is no repository {word}.", hint=f"Registered: {known}.")
    return repository


def open_freezes(repository: Repository) -> list[RepositoryFreeze]:
    """Return the open rows of the repository's journal, from what was loaded with it where that was done."""
    loaded: list[RepositoryFreeze] | None = getattr(repository, "open_freezes", None)
    if loaded is not None:
        return loaded
    return list(repository.freezes.filter(cleared_at__isnull=True).order_by("id"))


def freeze_journal(repository_id: uuid.UUID) -> QuerySet[RepositoryFreeze]:
    """Return the repository's freezes, open and cleared, newest first; raises RepositoryUnknownError."""
    return RepositoryFreeze.objects.filter(repository=repository_get(repository_id)).order_by("-id")


def refusal(repository: Repository) -> Refusal | None:
    """Return why the repository takes no backups now, or None if it does (E7)."""
    return refusal_of(repository, open_freezes(repository) if settings.SYNCOVA_FREEZES else [])


def accepts_backups(repository: Repository) -> tuple[bool, str]:
    """Return whether the repository takes backups now, and the reason if not (E7)."""
    refused = refusal(repository)
    return (True, "") if refused is None else (False, refused.reason)


def is_repository_frozen(repository_id: uuid.UUID) -> bool:
    """Say whether a freeze holds the repository's runs; any error means that one does (G2: this fails closed)."""
    try:
        held = RepositoryFreeze.objects.filter(repository_id=repository_id, cleared_at__isnull=True)
        return settings.SYNCOVA_FREEZES and held.exists()
    except Exception:
        # The question's policy, not an edge: whoever asks must not go on because nobody could answer.
        log.exception("The freeze of repository %s cannot be read: it counts as frozen.", repository_id)
        return True


def inspections_unanswered(*, rung_before: dt.datetime) -> QuerySet[Repository]:
    """Return repositories that still wait for their first opening and were last rung for before an instant."""
    silent = Q(inspection_rung_at__isnull=True) | Q(inspection_rung_at__lt=rung_before)
    return Repository.objects.filter(silent, state=RepositoryState.REGISTERING).order_by("created_at", "id")
