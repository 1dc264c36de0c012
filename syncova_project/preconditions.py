"""Changes that say which state they were made for, and readers who say what they have: ETag, If-Match, If-None-Match.

Owns the reading of both headers and the two refusals (execution.md, section 6; RFC 9110, section 13). A tag begins with
the number of a revision, which alone a change has to name; what follows is a digest of all that is shown, since runs
come and go without a revision, and a reader's copy must not outlive that.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from syncova_project.errors import SyncovaError, ValidationFailedError

HEADER: Final = "If-Match"
# One tag or several; without its quotes a number is understood as well. W/"3" is read, but never matches.
_TAG: Final = re.compile(r'\s*(?:(W/)?"([^"]*)"|([0-9]+))\s*')
_OPAQUE: Final = re.compile(r'(?:W/)?("[^"]*")')


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


def etag(revision: int, shown: Mapping[str, Any] | None = None) -> str:
    """Return the tag of a revision as headers carry it: of what is `shown` of it, or of any such answer."""
    if shown is None:
        return f'"{revision}"'
    digest = hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()
    return f'"{revision}-{digest[:16]}"'


def has_already(header: str | None, tag: str) -> bool:
    """Tell whether an If-None-Match header names this tag, strong or weak, or any; what is no such list names none."""
    if header is None or header.strip() == "*":
        return header is not None
    return tag in _OPAQUE.findall(header) and not _OPAQUE.sub("", header).strip(" \t,")


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
    """Return the revision that a tag begins with."""
    return (tag[2] if tag[2] is not None else tag[3]).partition("-")[0]
