"""The hooks of a run that ended in a warning: what is stored of them, and the sentence about it.

Owns the words alone; what the exit code of a hook comes to, the file of the worker says.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.utils.translation import ngettext

_NAME: Final = "hooks_warned"
_MOST_STORED: Final = 20
_MOST_TOLD: Final = 3


def warned_by(hooks: Sequence[str]) -> dict[str, list[str]]:
    """Return what a run's end tells of hooks that warned (each by its name, when and how), {} where none did."""
    return {_NAME: list(hooks[:_MOST_STORED])} if hooks else {}


def warned_sentence(told: Mapping[str, Any]) -> str:
    """Return the sentence about what `warned_by` told, with the blank before it; "" where that is nothing."""
    hooks = told.get(_NAME) or []
    if not hooks:
        return ""
    named = "; ".join([*hooks[:_MOST_TOLD], *(["others"] if len(hooks) > _MOST_TOLD else [])])
    return " " + ngettext("A hook warned: %(hooks)s.", "Hooks warned: %(hooks)s.", len(hooks)) % {"hooks": named}
