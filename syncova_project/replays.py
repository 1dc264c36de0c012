"""Who may get a kept answer again: sight is asked anew, since it may have become narrower after the first answer (7.8).

Owns the comparison of both sights. Rights are asked by the views, before each answer.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.urls import resolve

from syncova_project.access.visibility import check_sight, visible_groups
from syncova_project.errors import ConflictError


class AnswerNotShownAgainError(ConflictError):
    """The first answer was made when the caller saw more than now."""

    code: ClassVar[str] = "ANSWER_NOT_SHOWN_AGAIN"


def kept_with_sight(body: Any, location: str) -> dict[str, Any]:
    """Return what is kept of an answer, with the sight for which it was made."""
    groups = visible_groups()
    return {"body": body, "location": location, "groups": None if groups is None else sorted(groups)}


def check_replay(kept: Mapping[str, Any]) -> None:
    """Raise what GET raises where the caller does not see the thing, AnswerNotShownAgainError if it saw more then.

    The thing may be seen while its first answer names others that no longer are.
    """
    groups = visible_groups()
    if groups is None:
        return
    location = str(kept["location"])
    check_sight(resolve(location).kwargs)
    # Answers from before the sight was kept may have been made for all.
    then = kept.get("groups")
    if then is None or not groups.issuperset(then):
        raise AnswerNotShownAgainError(
            "The first answer to this Idempotency-Key was made when you saw more than now.",
            hint="Read the thing at the location in details.",
            details={"location": location},
        )
