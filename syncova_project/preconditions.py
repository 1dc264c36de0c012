"""Changes that say which state they were made for: ETag and If-Match (execution.md, section 6).

Owns the reading of the header and the two refusals. The tag is the number of a revision, not of the shown text.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from syncova_project.errors import SyncovaError, ValidationFailedError

HEADER: Final = "If-Match"
# One tag or several; without its quotes a number is understood as well. W/"3" is read, but never matches.
_TAG: Final = re.compile(r'\s*(?:(W/)?"([^"]*)"|([0-9]+))\s*')


class PreconditionRequiredError(SyncovaError):
    """The change has to say which state it was made for, so that no change by somebody else is undone unseen."""

    code: ClassVar[str] = "PRECONDITION_REQUIRED"
    status: ClassVar[int] = 428


class PreconditionFailedError(SyncovaError):
    """It has been changed since the state that the change was made for; `details` has its present tag."""

    code: ClassVar[str] = "PRECONDITION_FAILED"
    status: ClassVar[int] = 412


@dataclass(frozen=True, slots=True)
class Condition:
    """The tags of which one has to be the present one; None: any state will do."""

    tags: frozenset[str] | None = None

    def check(self, revision: int, what: str) -> None:
        """Raise PreconditionFailedError unless `revision` of `what`, for example "the job home", is one of them."""
        if self.tags is None or str(revision) in self.tags:
            return
        raise PreconditionFailedError(
            f"{what[:1].upper()}{what[1:]} has been changed meanwhile: it is at revision {revision}.",
            hint="Read it again, and send the change with its ETag.",
            details={"etag": etag(revision)},
        )


ANY_STATE: Final = Condition()


def etag(revision: int) -> str:
    """Return the tag of a revision as headers carry it."""
    return f'"{revision}"'


def condition_of(header: str | None, *, needed: bool) -> Condition:
    """Return what an If-Match header asks for; raises PreconditionRequiredError where it is absent and `needed`."""
    if header is None:
        if needed:
            raise PreconditionRequiredError(
                f"The header {HEADER} is missing.", hint=f"Send {HEADER} with the ETag that GET answers with."
            )
        return ANY_STATE
    if header.strip() == "*":
        return ANY_STATE
    tags = [_TAG.fullmatch(part) for part in header.split(",")]
    if not all(tags):
        sentence = 'Has to be a tag in quotes, such as "3".'
        raise ValidationFailedError(f"The header {HEADER} is not acceptable.", details={HEADER: sentence})
    return Condition(frozenset(_value(tag) for tag in tags if tag is not None and tag[1] is None))


def _value(tag: re.Match[str]) -> str:
    return tag[2] if tag[2] is not None else tag[3]
