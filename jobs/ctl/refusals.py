"""What a server refused, in the words of the command line: options instead of the API's fields, each said once.

Owns the names of fields and the choice of exit codes. Decides nothing: what is acceptable the server has said.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from jobs.ctl.schedule_options import spelled
from repositories.console import exits
from repositories.console.failures import Failure, ReportedFailureError

# A failure keeps the exit code that the same failure has at the repository's own commands.
EXIT_CODES: Final[Mapping[str, int]] = {
    "VALIDATION_FAILED": exits.USAGE,
    "REPOSITORY_NOT_FOUND": exits.NO_REPOSITORY,
    "REPOSITORY_LOCKED": exits.LOCKED,
    "WRONG_PASSWORD": exits.WRONG_KEY,
    "INTEGRITY": exits.INTEGRITY,
    "OBJECT_MISSING": exits.INTEGRITY,
}
_OPTIONS: Final[tuple[tuple[str, str], ...]] = (
    (r"status", "--state"),
    (r"path(_base64)?", "PATH"),
    (r"name", "NAME"),
    (r"location", "LOCATION"),
    (r"worker_group", "--group"),
    (r"password", "the password"),
    (r"repository(_id)?", "--repository"),
    (r"sources\.\d+\.exclude_patterns(\.\d+)?", "--exclude"),
    (r"sources(\.\d+(\.\w+)?)?", "--source"),
    (r"schedules?(\.\d+)?\.time", "--daily"),
    (r"schedules?(\.\d+)?\.minute", "--hourly"),
    (r"schedules?(\.\d+)?\.days", "--monthly"),
    (r"schedules?(\.\d+)?\.every_seconds", "--every"),
    (r"schedules?(\.\d+)?\.expression", "--cron"),
    (r"bandwidth_limit_bps", "--bandwidth"),
    (r"rpo_seconds", "--rpo"),
    (r"start_deadline_seconds", "--start-deadline"),
    (r"max_runtime_seconds", "--max-runtime"),
    (r"hooks(\.\d+(\.\w+)?)?", "--hook"),
    (r"depends_on(\.\d+)?", "the jobs to wait for"),
    (r"schedules?(\.\d+)?\.missed(_within_seconds)?", "--missed"),
    (r"days(\.\d+)?", "the days"),
    (r"start", "--at"),
    (r"length_seconds", "--for"),
    (r"max_seconds", "--max-duration"),
    (r"keep_within_seconds", "--keep-within"),
    (r"starts_at", "--from"),
    (r"ends_at", "--until"),
    (r"job_id", "--job"),
    (r"kinds(\.\d+)?", "--kind"),
    (r"type", "--allowed"),
    (r"(schedules?\.\d+\.)?(\w+)", ""),
)
_WHOLE: Final = re.compile(r"(?<![\w.-])\d{1,15}(?![\w]|\.\d)", re.ASCII)


class RefusedError(ReportedFailureError):
    """The server refused a request; `fields` maps the API's names of refused fields to sentences."""

    def __init__(self, failure: Failure, fields: Mapping[str, str]) -> None:
        super().__init__(failure)
        self.fields = fields


def refusal(code: str, message: str, hint: str, details: Mapping[str, Any]) -> RefusedError:
    """Return what the server answered as the failure of a command."""
    fields = {name: " ".join(map(str, value)) for name, value in details.items() if isinstance(value, list)}
    if code == "VALIDATION_FAILED" and fields:
        sentences = [f"{option_of(name)}: {_small(sentence, name)}" for name, sentence in fields.items()]
        message = "; ".join(sentence.rstrip(".") for sentence in sentences)
        hint = "" if hint in {*fields.values(), "See details for each field."} else hint
    if details.get("command"):
        # A person has no details to look into.
        command, place = str(details["command"]), "the command in details"
        hint = hint.replace(place, command) if place in hint else f"{hint} {command}".strip()
    # What the engine met in the server's place, or a worker's, says more than that it met something.
    exit_code = EXIT_CODES.get(code) or EXIT_CODES.get(str(details.get("code"))) or exits.FAILED
    return RefusedError(Failure(code, message, hint, exit_code), fields)


def option_of(field: str) -> str:
    """Return the option or argument that a field of the API comes from."""
    for form, option in _OPTIONS:
        found = re.fullmatch(form, field)
        if found is not None:
            return option or f"--{found[2].replace('_', '-')}"
    return field


def _small(sentence: str, field: str) -> str:
    plain = sentence.removeprefix(f"{field}: ")
    for other in ("starts_at", "ends_at"):
        plain = plain.replace(other, option_of(other))
    if field.endswith("_seconds"):
        # The option takes a length of time, and nobody counts days in seconds.
        plain = _WHOLE.sub(lambda number: spelled(int(number[0])), plain)
    return plain[:1].lower() + plain[1:]
