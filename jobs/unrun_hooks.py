"""What a lost worker leaves undone: its run's hooks that come after, told in words (6.4).

Owns the words alone. Nobody runs these hooks in its place: what a name runs stands on the worker's machine, and how far
they were, nobody is left to say.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.utils.translation import gettext as _

from jobs.states import HookMoment

_AFTERWARDS: Final = frozenset({HookMoment.AFTER_SOURCE, HookMoment.ON_FAILURE, HookMoment.AFTER_JOB})


def undone_by(hooks: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return what a run's end tells of its hooks (moment and name): those that come after, {} where it names none."""
    names = dict.fromkeys(name for moment, name in hooks if moment in _AFTERWARDS)
    return {"hooks_not_run": ", ".join(names)} if names else {}


def undone_sentence(told: Mapping[str, Any]) -> str:
    """Return the sentence about what `undone_by` told, with the blank before it; "" where that is nothing."""
    if not told.get("hooks_not_run"):
        return ""
    sentence = _(
        "Its hooks for afterwards (%(hooks_not_run)s) did not run, or not surely to their end: its worker is lost."
    )
    return f" {sentence % told}"
