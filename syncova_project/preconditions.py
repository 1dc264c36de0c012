"""Changes that say which state they were made for, and readers who say what they have: ETag, If-Match, If-None-Match.

Owns the reading of both headers and the two refusals (execution.md, section 6; RFC 9110, section 13). A tag begins with
the number of a revision, which alone a change has to name. A digest of the state follows, of what people change
without a revision as well, which a change that names it is held to; and one of all that is shown, for readers alone,
since runs come and go without anybody's change, and a reader's copy must not outlive that.
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

    def check(self, revision: int, what: str, state: str) -> None:
        """Raise PreconditionFailedError unless `revision` of `what`, or it in this `state`, is one of them.

        `what` is "the job home" and the like, `state` what `state_digest` says of it.
        """
        if self.tags is None or not self.tags.isdisjoint({str(revision), f"{revision}-{state}"}):
            return
        raise PreconditionFailedError(
            self._reason(revision, what),
            hint="Read it again, and send the change with its ETag.",
            details={"etag": etag(revision)},
            page_hint="Open its page in another tab, and make there what you still want to change: this form is older.",
        )

    def _reason(self, revision: int, what: str) -> str:
        if any(tag.partition("-")[0] == str(revision) for tag in self.tags or ()):
            return (
                f"{what[:1].upper()}{what[1:]} is at revision {revision} still, but in another state: "
                "it was paused or resumed meanwhile, or the tag was never its own."
            )
        return f"{what[:1].upper()}{what[1:]} has been changed meanwhile: it is at revision {revision}."


ANY_STATE: Final = Condition()


def etag(revision: int, shown: Mapping[str, Any] | None = None, *, state: str = "") -> str:
    """Return the tag of a revision as headers carry it: of what is `shown` of it in this state, or of any of them."""
    return f'"{revision}"' if shown is None else f'"{revision}-{state}-{_digest(shown)}"'


def state_digest(*parts: object) -> str:
    """Return what stands in a tag for the state that these JSON values are."""
    return _digest(parts)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


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
    """Return what of a tag a change is held to: the revision, and the state where it is said."""
    return "-".join((tag[2] if tag[2] is not None else tag[3]).split("-")[:2])
