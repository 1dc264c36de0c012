"""What an error of OpenDAL means for a repository: gone, there already, refused, full, or worth another try.

Owns the mapping to the storage's error classes. The library tells by class what it knows and the rest, such as the
HTTP status, only in its text: that is searched for a status, a code and a cause, and never shown, since it may quote
addresses, headers and whatever the server sent.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from opendal import exceptions

from repositories.engine.errors import (
    ConfigurationError,
    ObjectExistsError,
    ObjectMissingError,
    RepositoryError,
    StorageFullError,
    StoragePlaceMissingError,
    StorageReadOnlyError,
    StorageRefusedError,
    StorageUnreachableError,
)
from repositories.engine.storage.base import Storage
from repositories.engine.storage.outages import HINT_OF_TIME, TIMED_OUT, cause_in, hint_for, is_for_good
from repositories.engine.storage.spoken import Spoken

_STATUS: Final = re.compile(r"status: (\d{3})\b")
_CODE: Final = re.compile(r'\bcode: "([A-Za-z0-9]{1,64})"|<Code>([A-Za-z0-9]{1,64})</Code>')
_MAY_PASS: Final = frozenset({408, 423, 425, 429, 500, 502, 503, 504})
_FULL: Final = frozenset({507})
_UNKNOWN, _FORBIDDEN, _NOT_FOUND, _CONFLICT, _NO_RANGE = 401, 403, 404, 409, 416
_SUCCESS: Final = range(200, 300)
_TOO_LITTLE: Final = "reader got too little data"
_FULL_CODES: Final = frozenset({"QuotaExceeded", "EntityTooLarge", "XMinioStorageFull", "InsufficientCapacity"})
_BAD_KEYS: Final = frozenset(
    {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired"}
)
_CLOCK: Final = "RequestTimeTooSkewed"
_NOT_READ: Final = "deserialize"
_NO_BUCKET: Final = "NoSuchBucket"
_GIVE: Final = (
    "name the user in the location and set SYNCOVA_WEBDAV_PASSWORD, or set SYNCOVA_WEBDAV_TOKEN, or their _FILE forms: "
    "see docs/storage.md"
)
# So servers answer that have no room left and no word for it.
_MAYBE_FULL: Final = frozenset({405, 500})
_ROOM: Final = "check the location, the room on the server's medium and the server's log, then run again"
_LOCKED: Final = frozenset({"ObjectLocked", "AccessDeniedByObjectLock"})
ERRORS: Final = (
    exceptions.Error,
    exceptions.Unexpected,
    exceptions.Unsupported,
    exceptions.ConfigInvalid,
    exceptions.NotFound,
    exceptions.PermissionDenied,
    exceptions.IsADirectory,
    exceptions.NotADirectory,
    exceptions.AlreadyExists,
    exceptions.IsSameFile,
    exceptions.ConditionNotMatch,
    exceptions.RateLimited,
    exceptions.RangeNotSatisfied,
    exceptions.Conflict,
)
"""Every class that the library raises: they have no common one but Exception."""


@contextlib.contextmanager
def opendal_errors(
    name: str, medium: Storage, spoken: Spoken, *, in_bucket: bool = False, lacks: str = ""
) -> Iterator[None]:
    """Turn the library's errors into the storage's, for the object `name` of `medium`, a bucket or a directory.

    Files of the library raise OSError without a number; those of this machine have one and pass.
    """
    try:
        yield
    except ERRORS as error:
        if _NOT_READ in str(error):
            raise spoken.foreign() from None
        # Without the cause: a traceback that is printed would show the library's text.
        raise translated(type(error).__name__, str(error), name, medium, in_bucket=in_bucket, lacks=lacks) from None
    except OSError as error:
        if error.errno is not None:
            raise
        if isinstance(error, TimeoutError):
            raise StorageUnreachableError(f"{medium.place}: {TIMED_OUT}", hint=HINT_OF_TIME) from None
        raise translated(kind_of(error), str(error), name, medium, in_bucket=in_bucket, lacks=lacks) from None


def kind_of(error: Exception) -> str:
    """Return the library's word for an error, which for files is in its text alone."""
    return str(error).partition(" ")[0] if isinstance(error, OSError) else type(error).__name__


def is_past_end(error: Exception) -> bool:
    """Tell whether what was asked for ends, or begins, behind an object's end."""
    text = str(error)
    return kind_of(error) == "RangeNotSatisfied" or _status_of(text) == _NO_RANGE or _TOO_LITTLE in text


def has_reason(error: Exception) -> bool:
    """Tell whether an error says why a request failed."""
    text = str(error)
    return _status_of(text) is not None or bool(cause_in(text))


def is_of_connection(error: Exception) -> bool:
    """Tell whether an error says why no answer came."""
    text = str(error)
    return _status_of(text) is None and bool(cause_in(text))


def may_be_of_protocol(error: Exception, *, in_bucket: bool) -> bool:
    """Tell whether an answer may be one of S3 or WebDAV, to a question for what is not there.

    S3 names a code; a page of another server comes with success, or without one. Raises `error` where no answer came.
    """
    text = str(error)
    status = _status_of(text)
    if status is None and (cause_in(text) or _is_temporary(text)) and _NOT_READ not in text:
        raise error
    if status is None or status in _SUCCESS:
        return False
    return not in_bucket or status != _NOT_FOUND or bool(_code_of(text))


def translated(
    kind: str, text: str, name: str, medium: Storage, *, in_bucket: bool, lacks: str = ""
) -> RepositoryError | ConfigurationError:
    """Return the storage's error for one of the library's."""
    status, code = _status_of(text), _code_of(text)
    place, shown = medium.place, medium.shown(name) if name else medium.place
    if in_bucket and (code == _NO_BUCKET or (kind == "NotFound" and _is_of_bucket(text))):
        return _no_bucket(place, code)
    if kind == "NotFound":
        return ObjectMissingError(f"{name or place} is not in the repository", hint="run check")
    if kind in ("AlreadyExists", "ConditionNotMatch") and status != _CONFLICT:
        return ObjectExistsError(f"{name} is there already", hint="run check")
    if status in _FULL or code in _FULL_CODES:
        return StorageFullError(f"{shown} could not be written: no room is left", hint="make room, then run again")
    if kind == "PermissionDenied" or status in (_UNKNOWN, _FORBIDDEN):
        return _refused(shown, status, code, lacks)
    if kind == "ConfigInvalid":
        return ConfigurationError(
            f"{place} cannot be used as it is written: {_reason(text, status, code)}",
            hint="check bucket, endpoint and region",
        )
    if _may_pass(kind, text, status):
        # What concerns the connection concerns no object.
        return StorageUnreachableError(
            f"{shown if status is not None else place}: {_reason(text, status, code)}",
            hint=_ROOM if status in _MAYBE_FULL else hint_for(_reason(text, status, code)),
        )
    hint = _ROOM if status in _MAYBE_FULL else "check the location and the server's log"
    return RepositoryError(f"{shown}: {_reason(text, status, code)}", hint=hint)


def _is_of_bucket(text: str) -> bool:
    """Tell whether what was not found cannot be an object: nothing was looked for but a place for objects."""
    return text.partition(",")[0].partition(" => ")[0].partition("\n")[0].endswith((" at list", " at write"))


def _no_bucket(place: str, code: str) -> StoragePlaceMissingError:
    if code == _NO_BUCKET:
        return StoragePlaceMissingError(
            f"{place}: there is no such bucket", hint="make the bucket, or check the location and its endpoint"
        )
    return StoragePlaceMissingError(
        f"{place}: the server answered with status 404: no S3 is spoken at this endpoint, or the bucket is not there",
        hint="check endpoint=https://HOST:PORT in the location, then the bucket's name",
    )


def _status_of(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1]) if found else None


def _code_of(text: str) -> str:
    found = _CODE.search(text)
    return (found[1] or found[2]) if found else ""


def _may_pass(kind: str, text: str, status: int | None) -> bool:
    if kind in ("RateLimited", "ConditionNotMatch", "Conflict") or status in _MAY_PASS:
        return True
    # The library marks what its own retries would try again: lost connections and timeouts carry no status.
    return status is None and not is_for_good(text) and _is_temporary(text)


def _is_temporary(text: str) -> bool:
    return "(temporary)" in text.partition(" at ")[0]


def _refused(shown: str, status: int | None, code: str, lacks: str) -> RepositoryError:
    if code == _CLOCK:
        return StorageRefusedError(
            f"{shown}: the server says that this machine's clock is wrong", hint="set the clock, then run again"
        )
    if code in _LOCKED:
        return StorageReadOnlyError(f"{shown}: the object is locked", hint="see docs/storage.md on Object Lock")
    if status == _UNKNOWN and lacks:
        return StorageRefusedError(f"{shown}: the server asks for credentials, and {lacks}", hint=_GIVE)
    if status == _UNKNOWN or code in _BAD_KEYS:
        return StorageRefusedError(
            f"{shown}: the server does not accept the credentials",
            hint="check them; see docs/storage.md",
        )
    return StorageRefusedError(
        f"{shown}: the server refuses this", hint="check the credentials and what they may do: docs/storage.md lists it"
    )


def _reason(text: str, status: int | None, code: str) -> str:
    if status is not None:
        return f"the server answered with status {status}" + (f" ({code})" if code else "")
    return cause_in(text) or "the server did not answer as expected, or not at all"
