"""The repository that a copy reads from, as who reads may know it: it may be of a group that they do not see (7.8).

Owns the neutral words that stand in place of its id, on a run's page and in the trail.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.utils.translation import gettext as _

from repositories.models import Repository
from syncova_project.access.visibility import visible_groups, within_sight

_ORIGIN: Final = "from_repository_id"


def another_repository() -> str:
    """Return what stands in place of the id of a repository that the caller does not see."""
    return _("another repository")


def origin_shown(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's parameters without the id of an origin that the caller does not see."""
    return _shown(parameters, _seen_of([parameters]))


def origins_shown(details: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return details of audit entries of runs without the ids of origins that the caller does not see."""
    asked = [_parameters(each) for each in details]
    seen = _seen_of(asked)
    return [
        {**each, "parameters": _shown(order, seen)} if _ORIGIN in order else each
        for each, order in zip(details, asked, strict=True)
    ]


def _parameters(details: Mapping[str, Any]) -> Mapping[str, Any]:
    order = details.get("parameters")
    return order if isinstance(order, Mapping) else {}


def _seen_of(orders: Sequence[Mapping[str, Any]]) -> set[str] | None:
    """Return which of the origins the caller sees, None for all."""
    named = {uuid.UUID(str(order[_ORIGIN])) for order in orders if _ORIGIN in order}
    if visible_groups() is None or not named:
        return None
    rows = within_sight(Repository.objects.filter(id__in=named), "worker_group")
    return set(map(str, rows.values_list("id", flat=True)))


def _shown(order: Mapping[str, Any], seen: set[str] | None) -> dict[str, Any]:
    hidden = seen is not None and _ORIGIN in order and order[_ORIGIN] not in seen
    return {**order, _ORIGIN: another_repository()} if hidden else dict(order)
