"""The hooks of one backup run: before and after the job and each source, in the job's order (6.4).

Owns how a hook is run and what its end comes to; workers.hook_turns says when a source has its turn. A run that cannot
trust or find its hooks backs up nothing: what a hook was to make ready would be missing. What comes after runs however
the rest ended, so that nothing stays frozen, and on a cancel for a few seconds only.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from django.conf import settings

from jobs.executors import ExecutionControl, ExecutionRequest, ExecutionResult, ExecutionSource, Failure, Progress
from jobs.states import CancelOrigin, FailureClass, HookMoment, TaskState
from jobs.verdict import all_sources_failed
from repositories.engine.display import show_text
from syncova_project import clock, env
from workers import outcome
from workers.hook_file import Decision, Hook, HooksFileError, load_hooks
from workers.hook_process import GRACE_SECONDS, HookEnd, run_hook

# A worker that shuts down has 45 s for all that it must end.
AFTER_CANCEL_SECONDS: Final = 8.0
_SYSTEM_FILE: Final = Path("/etc/syncova/hooks.toml")
_PASSED_ON: Final = ("PATH", "HOME", "TZ")
# What the engine waits beyond the limits of the hooks around two sources: a machine may be suspended, or very slow.
_SPARE_SECONDS: Final = 3600.0
_AROUND_SOURCES: Final = frozenset({HookMoment.BEFORE_SOURCE, HookMoment.AFTER_SOURCE})

Gone = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a hook's end comes to where it does not let the run go on; `skips`: there is nothing to do, and no fault."""

    failure: Failure
    skips: bool = False


@dataclass(frozen=True, slots=True)
class _Moment:
    """One moment of a run: what its hooks are told, how far the run is (None: as last told), and what ends them.

    `source` is how the source is shown that the moment belongs to, "" where it is the job's.
    """

    name: HookMoment
    told: Mapping[str, str]
    so_far: Progress | None = None
    after: bool = False
    gone: Gone = bool
    source: str = ""

    @property
    def words(self) -> str:
        """When that is: "before the job", "after the source /home"."""
        if not self.source:
            return self.name.label.lower()
        return f"{'after' if self.after else 'before'} the source {self.source}"


def hooks_file() -> Path:
    """Return the file of this machine's hooks."""
    if settings.SYNCOVA_HOOKS_FILE:
        return Path(settings.SYNCOVA_HOOKS_FILE)
    return _SYSTEM_FILE if _SYSTEM_FILE.exists() else Path(settings.DATA_DIR) / "hooks.toml"


class RunHooks:
    """The hooks of one run; `refused` says why nothing may be backed up where one of them is not known here.

    Of the known ones `after_failure` then runs those that are named for it: somebody waits to be told.
    """

    def __init__(self, request: ExecutionRequest, control: ExecutionControl) -> None:
        self._request, self._control = request, control
        # Of what is left to what undoes after a cancel: spent by hooks that have ended, and since when one runs on.
        self._spent, self._undoing_since = 0.0, float("inf")
        self._warned: list[str] = []
        known, self.refused = _known(request)
        self._by_moment = {
            moment: [known[call.name] for call in request.hooks if call.moment == moment and call.name in known]
            for moment in HookMoment
        }

    def before_job(self) -> ExecutionResult | None:
        """Run what comes before the job; return the run's end where a hook says that nothing is backed up."""
        refusal = self._run(_Moment(HookMoment.BEFORE_JOB, {}, Progress("")))
        if refusal is None:
            origin = self._control.cancelled()
            return None if origin is None else ExecutionResult(cancelled=origin)
        if refusal.skips:
            return ExecutionResult(cancelled=CancelOrigin.HOOK, parameters={"hook": refusal.failure.message})
        return ExecutionResult(failure=refusal.failure)

    def seconds_of_turns(self) -> float | None:
        """Return what may pass between the end of one source and the start of the next, None where no hook is named."""
        named = [hook.seconds for moment in _AROUND_SOURCES for hook in self._by_moment[moment]]
        return sum(named) + len(named) * GRACE_SECONDS + _SPARE_SECONDS if named else None

    def before_source(self, source: ExecutionSource, so_far: Progress, gone: Gone) -> Refusal | None:
        """Run what comes before a source; return why a hook leaves it out. `gone`: nobody waits for the source."""
        moment = _Moment(HookMoment.BEFORE_SOURCE, _of_source(source), so_far, gone=gone, source=source.name)
        return self._run(moment)

    def after_source(
        self, source: ExecutionSource, state: TaskState, failure: Failure | None, so_far: Progress | None
    ) -> Refusal | None:
        """Run what comes after a source that ended as `state`; return what the first hook that failed comes to."""
        told = {**_of_source(source), **_of_end(str(state), failure)}
        return self._run(_Moment(HookMoment.AFTER_SOURCE, told, so_far, after=True, source=source.name))

    def after_failure(self, failure: Failure) -> ExecutionResult:
        """Return the end of a run that failed before anything was made ready; only what is named for failures runs."""
        told = _of_end(TaskState.FAILED, failure)
        self._run(_Moment(HookMoment.ON_FAILURE, told, after=True))
        return ExecutionResult(failure=failure, hooks_warned=tuple(self._warned))

    def after_job(self, result: ExecutionResult) -> ExecutionResult:
        """Run what comes after the job, and on failure what is named for that; return the run's result with theirs.

        It also has the warnings of all hooks that ran before.
        """
        state = _state(result)
        told = _of_end(state, result.failure or _of_all_sources(result))
        if state != TaskState.SUCCEEDED and not _is_nothing_to_do(result):
            result = _with(result, self._run(_Moment(HookMoment.ON_FAILURE, told, after=True)))
        result = _with(result, self._run(_Moment(HookMoment.AFTER_JOB, told, after=True)))
        return replace(result, hooks_warned=tuple(self._warned))

    def _run(self, moment: _Moment) -> Refusal | None:
        """Run the hooks of a moment in order; return what ends it."""
        ended = None
        for hook in self._by_moment[moment.name]:
            end = self._one(hook, moment)
            # What undoes goes on after a failure; what makes ready does not.
            ended = ended or end
            if ended is not None and not moment.after:
                break
        return ended

    def _one(self, hook: Hook, moment: _Moment) -> Refusal | None:
        control = self._control
        if not moment.after and control.cancelled() is not None:
            return None
        control.log("info", f"The hook {hook.name} begins ({moment.words}).")
        self._progress(hook, moment, "")
        try:
            end = run_hook(
                hook,
                environment={**self._environment(moment.name), **moment.told},
                seconds=hook.seconds,
                say=lambda line: self._say(hook, moment, line),
                stop=lambda: self._stops(moment),
            )
        except OSError as error:
            return self._told(hook, moment, f"cannot be started: {error.strerror or error}", Decision.FAIL)
        finally:
            self._spent += max(0.0, clock.monotonic() - self._undoing_since)
            self._undoing_since = float("inf")
        if end.lines_dropped:
            control.log("warning", f"{hook.name}: {end.lines_dropped:,} more lines of its output were dropped.")
        if end.stopped:
            why = "the engine that waited for it is gone" if control.cancelled() is None else "the run is cancelled"
            control.log("warning", f"The hook {hook.name} was ended: {why}.")
            return None
        how = f"took longer than {hook.seconds:g} s and was ended" if end.timed_out else _exit_words(end)
        return self._told(hook, moment, how, Decision.FAIL if end.timed_out else hook.decide(end.exit_code))

    def _say(self, hook: Hook, moment: _Moment, line: str) -> None:
        shown = outcome.clean(show_text(line))
        self._control.log("info", f"{hook.name}: {shown}")
        self._progress(hook, moment, shown)

    def _progress(self, hook: Hook, moment: _Moment, shown: str) -> None:
        """Tell what the run does now, with the figures of what was read; at its end those stay as they are."""
        if moment.so_far is not None:
            self._control.heartbeat(replace(moment.so_far, phase=f"hook {hook.name}", current=shown))

    def _stops(self, moment: _Moment) -> bool:
        """Tell whether a running hook is to be ended; what undoes has some seconds more, all of it together."""
        if self._control.cancelled() is None:
            return moment.gone()
        if not moment.after:
            return True
        now = clock.monotonic()
        self._undoing_since = min(self._undoing_since, now)
        return self._spent + now - self._undoing_since >= AFTER_CANCEL_SECONDS

    def _told(self, hook: Hook, moment: _Moment, how: str, decision: Decision) -> Refusal | None:
        how = outcome.clean(f"{hook.name} ({moment.words}) {how}")
        if decision in {Decision.GO_ON, Decision.WARN}:
            level = "info" if decision is Decision.GO_ON else "warning"
            self._control.log(level, f"The hook {how}; the run goes on.")
            if decision is Decision.WARN:
                self._warned.append(how)
            return None
        skips = decision is Decision.SKIP
        self._control.log("warning" if skips else "error", f"The hook {how}: {decision}.")
        hint = "The run's log has its output."
        if skips:
            failure = Failure("HOOK_SKIPPED", f"The hook {how}: skip.", FailureClass.HOOK, hint=hint)
            return Refusal(failure, skips=True)
        return Refusal(Failure("HOOK_FAILED", f"The hook {how}.", FailureClass.HOOK, hint=hint))

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


def _known(request: ExecutionRequest) -> tuple[Mapping[str, Hook], Failure | None]:
    """Return the hooks that this machine knows, and why they are not enough for the run."""
    try:
        known = load_hooks(hooks_file()) if request.hooks else {}
    except HooksFileError as error:
        return {}, Failure(error.code, error.message, FailureClass.CONFIGURATION, error.hint)
    missing = sorted({call.name for call in request.hooks} - set(known))
    if not missing:
        return known, None
    unknown = HooksFileError(
        f"The file of hooks {hooks_file()} does not know {', '.join(map(show_text, missing))}.",
        hint="Add what the job names, on each machine of the worker group, or take it off the job.",
    )
    return known, Failure(unknown.code, unknown.message, FailureClass.CONFIGURATION, unknown.hint)


def _of_source(source: ExecutionSource) -> dict[str, str]:
    return {"SYNCOVA_RUN_SOURCE": os.fsdecode(source.path)}


def _of_end(state: str, failure: Failure | None) -> dict[str, str]:
    return {"SYNCOVA_RUN_STATE": state, "SYNCOVA_RUN_ERROR": failure.code if failure else ""}


def _is_nothing_to_do(result: ExecutionResult) -> bool:
    """Tell whether hooks said so of the job, or of each of its sources."""
    if result.failure is not None or result.cancelled is not None:
        return result.cancelled is CancelOrigin.HOOK
    return {one.state for one in result.sources} == {TaskState.SKIPPED}


def _state(result: ExecutionResult) -> str:
    if result.cancelled is not None or _is_nothing_to_do(result):
        return str(TaskState.CANCELLED)
    states = {one.state for one in result.sources}
    if result.failure is not None or TaskState.SUCCEEDED not in states:
        return str(TaskState.FAILED)
    whole = states == {TaskState.SUCCEEDED} and not any(one.figures.skipped for one in result.sources)
    return str(TaskState.SUCCEEDED if whole else TaskState.PARTIAL_FAILURE)


def _of_all_sources(result: ExecutionResult) -> Failure | None:
    """Return the failure that the verdict will find where every source failed."""
    failures = [one.failure for one in result.sources if one.failure is not None]
    whole = bool(failures) and all(one.state == TaskState.FAILED for one in result.sources)
    return all_sources_failed(failures) if whole else None


def failed_by(result: ExecutionResult, failure: Failure | None) -> ExecutionResult:
    """Return the result with the failure of a hook that undoes, unless it has a graver end already."""
    if failure is None or result.failure is not None or result.cancelled is not None:
        return result
    return replace(result, failure=failure)


def _with(result: ExecutionResult, refusal: Refusal | None) -> ExecutionResult:
    return failed_by(result, None if refusal is None or refusal.skips else refusal.failure)


def _exit_words(end: HookEnd) -> str:
    return f"ended with exit code {end.exit_code}" if end.exit_code >= 0 else f"was ended by signal {-end.exit_code}"
