"""When the next planned runs of jobs will start as windows are now, and which ones postpone them (B9).

Owns the answer; a job's plan says when it is due, and that stays as it is.
"""

from functools import cached_property
from typing import Any

from jobs import windows
from jobs.objectives import rules_of
from jobs.window_rows import current_rules
from syncova_project.instants import instant


class NextStarts:
    """The answers for the jobs of one response: windows are read once, and only when some job is due at all."""

    @cached_property
    def _rules(self) -> Any:
        return current_rules()

    def of(self, job: Any) -> dict[str, Any]:
        """Return `next_start_at` and `next_start_window` of a job that jobs.listing loaded.

        The window is null where none postpones it; with a window and no instant, none is free within 31 days.
        """
        if job.next_run_at is None:
            return {"next_start_at": None, "next_start_window": None}
        answer = windows.next_free(rules_of(job, self._rules), job.next_run_at)
        block = answer.block
        return {
            "next_start_at": instant(answer.instant),
            "next_start_window": None if block is None else {"code": str(block.code), "name": block.name},
        }
