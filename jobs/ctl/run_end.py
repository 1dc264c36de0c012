"""Waiting for a run's end: progress on stderr, and the exit code of the result."""

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.patience import looks
from jobs.ctl.refusals import EXIT_CODES
from jobs.ctl.run_page import ENDS, following, progress
from repositories.console import exits
from repositories.console.failures import Failure, Interrupted, ReportedFailureError
from repositories.console.terminal import Terminal


def await_end(api: Api, run: Json, terminal: Terminal) -> Json:
    """Return the run once it has ended; interrupting this leaves the run alone and says so."""
    try:
        ended = _looked_after(api, run, terminal)
    except Interrupted as interrupted:
        raise ReportedFailureError(_left_alone(run["id"], interrupted)) from interrupted
    if following(ended):
        terminal.note(f"this attempt has ended; {following(ended)}")
    return ended


def exit_code_of(run: Json) -> int:
    """Return what `job run --wait` exits with: partial failure is 3, a failure its own code."""
    if run["state"] == "succeeded":
        return exits.DONE
    if run["state"] == "partial_failure":
        return exits.SKIPPED
    return EXIT_CODES.get(run["failure"]["code"], exits.FAILED) if run["failure"] else exits.FAILED


def _looked_after(api: Api, run: Json, terminal: Terminal) -> Json:
    told = ""
    for _ in looks():
        run = api.get(f"runs/{run['id']}")
        if run["state"] in ENDS:
            break
        far = progress(run)
        line = f"{shapes.state(run['phase'])}{shapes.why(run)}{shapes.silence(run)}{f', {far}' if far else ''}"
        if line != told:
            terminal.note(line)
            told = line
    return run


def _left_alone(run_id: str, interrupted: Interrupted) -> Failure:
    how = "interrupted" if interrupted.exit_code == exits.INTERRUPTED else "terminated"
    return Failure(
        "INTERRUPTED",
        f"{how}; only the waiting has ended, run {run_id} goes on",
        f"see it with: ./syncova ctl run show {run_id}; or end it with: ./syncova ctl run cancel {run_id}",
        interrupted.exit_code,
    )
