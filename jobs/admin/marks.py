"""State as a symbol and a word, never as colour alone."""

from collections.abc import Mapping
from typing import Final

from jobs.states import RunState, TaskState

# Both enumerations are text, so a task's states that are named as a run's share their symbols.
MARKS: Final[Mapping[str, str]] = {
    RunState.QUEUED.value: "…",
    "waiting": "…",
    "admitted": "…",
    TaskState.PENDING.value: "…",
    RunState.RUNNING.value: "▶",
    RunState.SUCCEEDED.value: "✓",
    RunState.PARTIAL_FAILURE.value: "◐",
    RunState.FAILED.value: "✗",
    RunState.CANCELLED.value: "■",
    TaskState.SKIPPED.value: "○",
    "active": "✓",
    "flagged": "!",
    "registering": "…",
}


def marked(state: str) -> str:
    """Return the state's symbol and word; a dash when there is no state."""
    return f"{MARKS.get(state, '?')} {state.replace('_', ' ')}" if state else "-"
