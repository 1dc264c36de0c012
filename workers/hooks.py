"""The hooks of one backup run: before and after the job and each source, in the job's order (6.4).

Owns when a hook runs and what its end comes to. A run that cannot trust or find its hooks backs up nothing: what a
hook was to make ready would be missing. What comes after runs however the rest ended, so that nothing stays frozen,
and on a cancel for a few seconds only.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from django.conf import settings

from jobs.executors import (
    ExecutionControl,
    ExecutionRequest,
    ExecutionResult,
    ExecutionSource,
    Failure,
    Progress,
    SourceResult,
)
from jobs.states import CancelOrigin, FailureClass, HookMoment, TaskState
from repositories.engine.display import show_text
from syncova_project import clock, env
from workers import outcome
from workers.hook_file import Decision, Hook, HooksFileError, load_hooks
from workers.hook_process import HookEnd, run_hook

# A worker that shuts down has 45 s for all that it must end.
AFTER_CANCEL_SECONDS: Final = 8.0
_SYSTEM_FILE: Final = Path("/etc/syncova/hooks.toml")
_PASSED_ON: Final = ("PATH", "HOME", "TZ")


def hooks_file() -> Path:
    """Return the file of this machine's hooks."""
    if settings.SYNCOVA_HOOKS_FILE:
        return Path(settings.SYNCOVA_HOOKS_FILE)
    return _SYSTEM_FILE if _SYSTEM_FILE.exists() else Path(settings.DATA_DIR) / "hooks.toml"


class RunHooks:
    """The hooks of one run. Making it raises HooksFileError where one of them is not known here."""

    def __init__(self, request: ExecutionRequest, control: ExecutionControl) -> None:
        self._request, self._control = request, control
        self._cancelled_at: float | None = None
        known = load_hooks(hooks_file()) if request.hooks else {}
        missing = sorted({call.name for call in request.hooks} - set(known))
        if missing:
            names = ", ".join(map(show_text, missing))
            raise HooksFileError(
                f"The file of hooks {hooks_file()} does not know {names}.",
                hint="Add what the job names, on each machine of the worker group, or take it off the job.",
            )
        self._by_moment = {
            moment: [known[call.name] for call in request.hooks if call.moment == moment] for moment in HookMoment
        }

    def before_job(self) -> ExecutionResult | None:
        """Run what comes before the job; return the run's end where a hook says that nothing is backed up."""
        told = self._run(HookMoment.BEFORE_JOB, {})
        if told is None:
            origin = self._control.cancelled()
            return None if origin is None else ExecutionResult(cancelled=origin)
        failure, skips = told
        if skips:
            return ExecutionResult(cancelled=CancelOrigin.HOOK)
        return ExecutionResult(failure=failure)

    def before_source(self, source: ExecutionSource) -> SourceResult | None:
        """Run what comes before a source; return its result where a hook leaves it out."""
        told = self._run(HookMoment.BEFORE_SOURCE, _of_source(source))
        return None if told is None else outcome.failed(source, told[0])

    def after_sources(self, sources: Iterable[ExecutionSource], result: ExecutionResult) -> ExecutionResult:
        """Run what comes after each source whose turn had come; a failing hook fails the run, and no backup goes."""
        states = {one.task_run_id: one for one in result.sources}
        for source in sources:
            done = states.get(source.task_run_id)
            state = str(done.state) if done else str(TaskState.CANCELLED)
            told = {**_of_source(source), "SYNCOVA_RUN_STATE": state}
            result = _with(result, self._run(HookMoment.AFTER_SOURCE, told, after=True))
        return result

    def after_job(self, result: ExecutionResult) -> ExecutionResult:
        """Run what comes after the job, and on failure what is named for that; return the run's result with theirs."""
        state = _state(result)
        told = {"SYNCOVA_RUN_STATE": state, "SYNCOVA_RUN_ERROR": result.failure.code if result.failure else ""}
        if state != TaskState.SUCCEEDED and result.cancelled is not CancelOrigin.HOOK:
            result = _with(result, self._run(HookMoment.ON_FAILURE, told, after=True))
        return _with(result, self._run(HookMoment.AFTER_JOB, told, after=True))

    def _run(self, moment: HookMoment, told: Mapping[str, str], *, after: bool = False) -> tuple[Failure, bool] | None:
        """Run the hooks of a moment in order; return the failure that ends it and whether it only skips."""
        ended = None
        for hook in self._by_moment[moment]:
            end = self._one(hook, moment, told, after=after)
            # What undoes goes on after a failure; what makes ready does not.
            ended = ended or end
            if ended is not None and not after:
                break
        return ended

    def _one(
        self, hook: Hook, moment: HookMoment, told: Mapping[str, str], *, after: bool
    ) -> tuple[Failure, bool] | None:
        words, control = moment.label.lower(), self._control
        if not after and control.cancelled() is not None:
            return None
        control.log("info", f"The hook {hook.name} begins ({words}).")
        try:
            end = run_hook(
                hook,
                environment={**self._environment(moment), **told},
                seconds=hook.seconds,
                say=lambda line: self._say(hook, line, moves=not after),
                stop=lambda: self._stops(after=after),
            )
        except OSError as error:
            return self._told(hook, f"cannot be started: {error.strerror or error}", Decision.FAIL)
        if end.lines_dropped:
            control.log("warning", f"{hook.name}: {end.lines_dropped:,} more lines of its output were dropped.")
        if end.stopped:
            control.log("warning", f"The hook {hook.name} was ended: the run is cancelled.")
            return None
        how = f"took longer than {hook.seconds:g} s and was ended" if end.timed_out else _exit_words(end)
        return self._told(hook, how, Decision.FAIL if end.timed_out else hook.decide(end.exit_code))

    def _say(self, hook: Hook, line: str, *, moves: bool) -> None:
        """Put a line of a hook's output into the log; where nothing has been read yet, it is the run's progress too."""
        shown = outcome.clean(show_text(line))
        self._control.log("info", f"{hook.name}: {shown}")
        if moves:
            self._control.heartbeat(Progress(f"hook {hook.name}", current=shown))

    def _stops(self, *, after: bool) -> bool:
        """Tell whether a running hook is to be ended; what undoes has some seconds more, all of it together."""
        if self._control.cancelled() is None:
            return False
        now = clock.monotonic()
        self._cancelled_at = self._cancelled_at if self._cancelled_at is not None else now
        return not after or now - self._cancelled_at >= AFTER_CANCEL_SECONDS

    def _told(self, hook: Hook, how: str, decision: Decision) -> tuple[Failure, bool] | None:
        name, how = hook.name, outcome.clean(how)
        if decision in {Decision.GO_ON, Decision.WARN}:
            level = "info" if decision is Decision.GO_ON else "warning"
            self._control.log(level, f"The hook {name} {how}; the run goes on.")
            return None
        skips = decision is Decision.SKIP
        self._control.log("warning" if skips else "error", f"The hook {name} {how}: {decision}.")
        hint = "The run's log has its output."
        if skips:
            return Failure("HOOK_SKIPPED", f"The hook {name} {how}: skip.", FailureClass.HOOK, hint=hint), True
        return Failure("HOOK_FAILED", f"The hook {name} {how}.", FailureClass.HOOK, hint=hint), False

    def _environment(self, moment: HookMoment) -> dict[str, str]:
        request = self._request
        passed = {name: value for name in _PASSED_ON if (value := env.foreign(name)) is not None}
        return {
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            **passed,
            "SYNCOVA_RUN_ID": str(request.run_id),
            "SYNCOVA_RUN_JOB": request.job_name,
            "SYNCOVA_RUN_KIND": str(request.kind),
            "SYNCOVA_RUN_TRIGGER": str(request.trigger),
            "SYNCOVA_RUN_ATTEMPT": str(request.attempt),
            "SYNCOVA_RUN_MOMENT": str(moment),
        }


def _of_source(source: ExecutionSource) -> dict[str, str]:
    return {"SYNCOVA_RUN_SOURCE": os.fsdecode(source.path)}


def _state(result: ExecutionResult) -> str:
    if result.cancelled is not None:
        return str(TaskState.CANCELLED)
    states = {one.state for one in result.sources}
    if result.failure is not None or states <= {TaskState.FAILED}:
        return str(TaskState.FAILED)
    whole = states == {TaskState.SUCCEEDED} and not any(one.figures.skipped for one in result.sources)
    return str(TaskState.SUCCEEDED if whole else TaskState.PARTIAL_FAILURE)


def _with(result: ExecutionResult, told: tuple[Failure, bool] | None) -> ExecutionResult:
    """Return the result with a hook's failure, unless it has a graver end already."""
    if told is None or result.failure is not None or result.cancelled is not None or told[1]:
        return result
    return replace(result, failure=told[0])


def _exit_words(end: HookEnd) -> str:
    return f"ended with exit code {end.exit_code}" if end.exit_code >= 0 else f"was ended by signal {-end.exit_code}"
