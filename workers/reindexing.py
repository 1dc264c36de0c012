"""Indexing a repository again: the database learns from what lies there, also when all of it was lost (A9, section 5).

Owns the order: which rows there are; look; take the repository over where the database knows less; list; list again
where a backup is missing; rebuild; bring runs and schedules into line. Runs go on meanwhile: only a row that is older
than both lists, and that both lack, is of a backup that is gone. It runs where the medium is reached, in the process
that asks. What the repository says is foreign text.
"""

import base64
import contextlib
import datetime as dt
import uuid
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from django.db import transaction

from jobs.database_time import database_now
from jobs.reconciling import Reconciled, fences_above, reconcile, sources_of_group, tell_gone
from jobs.states import Trigger
from repositories import control_plane
from repositories.catalogue import ListedBackup, Rebuilt, catalogue_rebuild, catalogued
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import ErrorInfo, Event, Failed, Finished, Opened
from repositories.opening import RepositoryAccess, repository_access
from repositories.selectors import repository_get
from repositories.services import Observation, observe_repository_id
from syncova_project.errors import SyncovaError
from workers.engine_request import engine_environment, list_request
from workers.engine_run import follow
from workers.fences import KnownMark, StoredMark, alarm
from workers.media import reached
from workers.openings import Look, record_look, stored_mark
from workers.outcome import clean

# Another control plane may write between the look and the taking over; it is fenced off by the first that gets through.
_ROUNDS: Final = 3
_FIGURES: Final = ("logical_bytes", "bytes_read", "bytes_stored", "files", "skipped", "warnings")


class ReindexError(SyncovaError):
    """The repository could not be indexed again; nothing was changed in its catalogue."""

    code: ClassVar[str] = "REINDEX_FAILED"
    status: ClassVar[int] = 409


@dataclass(frozen=True, slots=True)
class Listing:
    """What one opening told: this control plane's mark as it stands there now, and the backups.

    `missing` are the backups that had a row before, and of which it told neither that they are there nor that they
    cannot be read.
    """

    mark: StoredMark
    backups: tuple[ListedBackup, ...]
    unreadable: int
    missing: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What was done; `epoch` is this database's turn from now on, `taken_over` whether it began with this."""

    rebuilt: Rebuilt
    reconciled: Reconciled
    epoch: int
    taken_over: bool
    unreadable: int


def reindex(repository_id: uuid.UUID, *, actor: str) -> Reindexed:
    """Index a repository again. May be repeated, and broken off at any point; runs may go on meanwhile.

    Raises ReindexError where the repository does not open, is another one, or shows an earlier state than is known.
    """
    listing, taken_over = _listed(repository_id), False
    for _ in range(_ROUNDS):
        if _knows_as_much(repository_id, listing):
            return _learned(repository_id, listing, actor, taken_over=taken_over)
        listing, taken_over = _take_over(repository_id, listing), True
    raise ReindexError(
        "Another control plane keeps on writing to the repository under this one's id.",
        hint="Stop it first: it works on a copy of this database.",
    )


def _knows_as_much(repository_id: uuid.UUID, listing: Listing) -> bool:
    """Ask the row after the opening: a run that began meanwhile has noted its fence before it put it."""
    row = repository_get(repository_id)
    return alarm(listing.mark, KnownMark(row.epoch, intended=row.fence_intended, confirmed=0)) is None


def _take_over(repository_id: uuid.UUID, listing: Listing) -> Listing:
    """Begin a new epoch above all that is written there, put its mark, and list what lies there then."""
    stored = listing.mark
    with transaction.atomic():
        fences_above(stored.fence)
        mine = control_plane.taken_over(repository_id=repository_id, epoch=stored.epoch, fence=stored.fence)
    after = _listed(repository_id, fence=mine.fence)
    # It tells what stood there before; if that is more than was taken over, somebody has put it in between.
    return replace(after, mark=StoredMark(mine.epoch, mine.fence)) if after.mark == stored else after


def _learned(repository_id: uuid.UUID, listing: Listing, actor: str, *, taken_over: bool) -> Reindexed:
    listing = _asked_again(repository_id, listing)
    now, row = database_now(), repository_get(repository_id)
    with transaction.atomic():
        rebuilt = catalogue_rebuild(repository_id=repository_id, listed=listing.backups, gone=listing.missing, now=now)
        tell_gone(repository_id=repository_id, gone=rebuilt.gone, now=now)
    reconciled = reconcile(
        repository_id=repository_id, listed=listing.backups, restored_at=row.reindex_wanted_at, now=now
    )
    done = Reindexed(rebuilt, reconciled, row.epoch, taken_over, listing.unreadable)
    told: dict[str, object] = {"added": rebuilt.added, "removed": rebuilt.removed, "epoch": row.epoch}
    control_plane.reindexed(repository_id=repository_id, fence=listing.mark.fence, actor=actor, told=told, now=now)
    return done


def _asked_again(repository_id: uuid.UUID, listing: Listing) -> Listing:
    """Ask the medium once more where a backup is missing: a list may lack what is there, a removed row is lost."""
    if not listing.missing:
        return listing
    again = _listed(repository_id)
    both = (*again.backups, *listing.backups)
    return replace(listing, backups=both, unreadable=again.unreadable, missing=listing.missing & again.missing)


def _listed(repository_id: uuid.UUID, fence: int | None = None) -> Listing:
    """Open the repository and list it; with a fence this control plane's mark is put first."""
    # Before the medium is asked: the rows that come now are of backups which its list may lack.
    before = catalogued(repository_id)
    confirmed = repository_get(repository_id).fence_confirmed
    access = reached(repository_access(repository_id=repository_id))
    opened, last = _followed(access, fence)
    if isinstance(last, Failed) or opened is None:
        error = last.error if isinstance(last, Failed) else ErrorInfo(code="ENGINE_PROTOCOL", message="no id was told")
        raise ReindexError(
            f"The repository could not be listed: {clean(error.message)}",
            hint=clean(error.hint) or "Run this on a machine that reaches its medium.",
        )
    _require_same(access, opened)
    mark = stored_mark(opened.controllers, repository_id)
    _require_not_rolled_back(access, opened, mark, confirmed)
    sources = sources_of_group(repository_get(repository_id).worker_group)
    told, damaged = last.result["backups"], last.result["damaged_manifests"]
    backups = tuple(each for one in told if (each := listed_backup(one, sources)) is not None)
    return Listing(
        mark, backups, len(told) - len(backups) + len(damaged), _missing(before, {one["id"] for one in told}, damaged)
    )


def _missing(before: Mapping[str, str], there: Set[str], damaged: Sequence[str]) -> frozenset[str]:
    """Return the backups of `before` that are not there; one whose manifest cannot be read is there."""
    unread = {name.rpartition("/")[2] for name in damaged}
    return frozenset(name for name, manifest_id in before.items() if name not in there and manifest_id not in unread)


def _followed(access: RepositoryAccess, fence: int | None) -> tuple[Opened | None, Finished | Failed]:
    seen: list[Opened] = []

    def handle(event: Event) -> None:
        if isinstance(event, Opened):
            seen.append(event)

    with EngineProcess(list_request(access, fence), environment=engine_environment()) as process:
        last = follow(process, handle=handle, stop=lambda: False)
    return (seen[0] if seen else None), last


def _require_same(access: RepositoryAccess, opened: Opened) -> None:
    there = clean(opened.repository_id, 100)
    seen = observe_repository_id(repository_id=access.id, observed_hex=there, run_id=None, now=database_now())
    if seen is Observation.SWAPPED:
        raise ReindexError(
            f"At its location lies the repository {there}, not {access.expected_id}.",
            hint="Put the right medium there, or adopt this one: ./syncova ctl repository unfreeze NAME --adopt",
        )


def _require_not_rolled_back(access: RepositoryAccess, opened: Opened, mark: StoredMark, confirmed: int) -> None:
    """Refuse to take what an old copy of the repository lacks for deleted: the rows say what was lost."""
    record_look(Look(access.id, None, access.remembered, opened.seen, opened.earlier_state))
    if opened.earlier_state or mark.fence < confirmed:
        why = clean(opened.earlier_state) or f"it was written under fence {confirmed}, but holds {mark.fence or 'none'}"
        raise ReindexError(
            f"The repository shows an earlier state than before: {why}.",
            hint="Bring the newer one back, or confirm this: ./syncova ctl repository unfreeze NAME. Then repeat.",
        )


def listed_backup(told: Mapping[str, Any], sources: Mapping[tuple[str, bytes], uuid.UUID]) -> ListedBackup | None:
    """Return one backup of the engine's list for the catalogue; None for one whose times or numbers make no sense.

    `sources` are those that the database knows, by type and exact path.
    """
    trigger, run_id = clean(told["trigger"], 100), _uuid(told["run_id"])
    try:
        path = base64.b64decode(told["path_base64"]) if "path_base64" in told else told["path"].encode()
        return ListedBackup(
            backup_id=told["id"],
            manifest_id=told["manifest_id"],
            chain=clean(told["chain"]),
            mode=told["mode"],
            parent=None if told["parent"] is None else clean(told["parent"], 100),
            # Made by no control plane: its run is an id of its own, and what it read is no source of ours.
            run_id=None if trigger == Trigger.EXTERNAL else run_id,
            source_id=None if trigger == Trigger.EXTERNAL else sources.get((told["source_type"], path)),
            source_name=clean(told["source"]),
            source_type=clean(told["source_type"], 100),
            host=clean(told["host"], 300),
            trigger=trigger,
            scheduled_for=None if told["scheduled_for"] is None else dt.datetime.fromisoformat(told["scheduled_for"]),
            received_at=dt.datetime.fromisoformat(told["time"]),
            **{name: int(told[name]) for name in _FIGURES},
        )
    except (ValueError, OverflowError):
        return None


def _uuid(text: str) -> uuid.UUID | None:
    with contextlib.suppress(ValueError):
        return uuid.UUID(text)
    return None
