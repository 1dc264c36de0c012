"""What the present caller may see: repositories of which worker groups, and with them jobs, runs, backups and entries.

Owns one context variable that the request's edge sets. Selectors ask it, so that lists, searches and pages agree; the
apps name here how an address's id is looked up, so that every address refuses what the caller does not see as if it
were not there. Everything that answers no request sees all.
"""

import contextvars
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet, UUIDField
from django.db.models.functions import Cast

Row = TypeVar("Row", bound=Model)
Groups = frozenset[str] | None
Details = Mapping[str, Any]

_groups: contextvars.ContextVar[Groups] = contextvars.ContextVar("syncova_groups", default=None)
# By the name of the part of an address: raises the same error as for an id that does not exist.
GUARDS: Final[dict[str, Callable[[Any], object]]] = {}
# By the type of an audit entry's subject: which entries are of what the caller sees.
SUBJECTS: Final[dict[str, Callable[[], Q]]] = {}
# By the type of an audit entry's subject: returns details of such entries without the ids that the caller does not see.
MASKS: Final[dict[str, Callable[[Sequence[Details]], list[Details]]]] = {}
# By the label of a model: those of its rows that the caller sees, who does not see all.
SEEN: Final[dict[str, Callable[[QuerySet[Any]], QuerySet[Any]]]] = {}

# Those who know worker groups: each returns the names of its own.
GROUPS: Final[list[Callable[[], Iterable[str]]]] = []
_ALWAYS: Final = "default"


def unknown_groups(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return which of these groups nobody knows, and all that are known; names are in small letters."""
    known = {_ALWAYS, *(name.lower() for ask in GROUPS for name in ask())}
    return sorted(set(names) - known), sorted(known)


def visible_groups() -> Groups:
    """Return the groups whose repositories the caller sees, None for all."""
    return _groups.get()


def overlap(one: Groups, other: Groups) -> Groups:
    """Return what both see."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def sees(worker_group: str) -> bool:
    """Tell whether the caller sees the repositories of a group."""
    groups = _groups.get()
    return groups is None or worker_group in groups


def within_sight(rows: QuerySet[Row], path: str) -> QuerySet[Row]:
    """Return those of the rows that the caller sees; `path` leads from a row to its repository's group."""
    groups = _groups.get()
    return rows if groups is None else rows.filter(**{f"{path}__in": groups})


def model_seen(label: str, path: str) -> None:
    """Let rows of this model be seen on pages of the admin; `path` leads from a row to its repository's group."""
    SEEN[label] = lambda rows: within_sight(rows, path)


def rows_seen(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Return those of a model's rows that the caller sees; of a model that nobody named here, none."""
    if _groups.get() is None:
        return rows
    seen = SEEN.get(rows.model._meta.label_lower)
    return rows.none() if seen is None else seen(rows)


def details_seen(kind: str, details: Sequence[Details]) -> list[Details]:
    """Return details of audit entries of one kind of subject, as the caller may read them."""
    if _groups.get() is None or kind not in MASKS:
        return list(details)
    return MASKS[kind](details)


@contextmanager
def unlimited_sight() -> Iterator[None]:
    """See all within the block, until `limit_sight` says otherwise, and after it as before it."""
    token = _groups.set(None)
    try:
        yield
    finally:
        _groups.reset(token)


def limit_sight(groups: Groups) -> None:
    """See no more than these groups from here on, within a block of `unlimited_sight`."""
    _groups.set(groups)


def entries_seen(kind: str, rows: Callable[[], QuerySet[Any]], path: str) -> None:
    """Let entries of this kind be seen whose subject is one of the rows that the caller sees; ids are UUIDs."""

    def seen() -> Q:
        of_entry = rows().filter(pk=Cast(OuterRef("subject_id"), UUIDField()))
        return Q(Exists(within_sight(of_entry, path)))

    SUBJECTS[kind] = seen


def check_sight(parts: dict[str, Any]) -> None:
    """Raise what an unknown id raises if a part of the address names something that the caller does not see."""
    if _groups.get() is None:
        return
    for name, value in parts.items():
        if name in GUARDS:
            GUARDS[name](value)
