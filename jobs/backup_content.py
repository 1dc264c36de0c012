"""The bytes of one file of a backup, read where the web process itself reaches the repository.

Owns the engine child that reads, for the length of one answer: it gets the repository's password and a pipe, and is
gone when the answer has ended, however that ends. What is sent short of the promised length was not whole. Who may not
have the file any more is sent nothing further, after a few seconds: a download outlives no token.
"""

import contextlib
import logging
import os
import select
import shlex
from collections.abc import Callable, Generator
from pathlib import Path
from typing import ClassVar, Final

from django.db import Error

from jobs.byte_ranges import ByteRange, RangeNotSatisfiableError
from repositories.engine.display import show_path, show_text
from repositories.engine.process.client import EngineProcess
from repositories.engine.process.protocol import ContentBegins, ErrorInfo, Failed, Finished
from repositories.engine.process.requests import LookOrder, RememberedState, RepositoryAccess, Request
from repositories.engine.process.spawn import spawn
from repositories.errors import LookupFailedError, PathNotInBackupError
from repositories.models import Backup
from repositories.opening import RepositoryAccess as Opened
from repositories.opening import repository_access
from syncova_project import clock, env
from syncova_project.database_faults import reason_of
from syncova_project.errors import ConflictError, SyncovaError, ValidationFailedError
from syncova_project.log import single_line
from syncova_project.web.long_answers import PLACES, STOPPING, TooManyLongAnswersError

# An hour at the longest for all of it, a minute for the next piece: a dead medium holds no thread for ever.
MOST_SECONDS: Final = 3600.0
SILENT_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.5
_PIECE: Final = 64 * 1024
_LONGEST_COMMAND: Final = 900
# The repository was reached, and said this.
_OF_THE_REPOSITORY: Final = frozenset({"WRONG_PASSWORD", "INTEGRITY", "OBJECT_MISSING", "KEYRING_LOST", "ENGINE_LOST"})
# A service user's interpreter and libraries may be copies, which it does not find by itself.
_OF_THE_INTERPRETER: Final = ("PYTHONHOME", "LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE", "TMPDIR")
_ROOT: Final = str(Path(__file__).resolve().parents[1])

logger = logging.getLogger(__name__)


Refusal = Callable[[], Exception | None]


class RepositoryNotReachableError(ConflictError):
    """The web process does not reach the repository; `details.command` reads the file on a machine that does."""

    code: ClassVar[str] = "REPOSITORY_NOT_REACHABLE"


class ContentBrokenOffError(SyncovaError):
    """A download ended before all of it was sent; the client sees it by its length."""

    code: ClassVar[str] = "CONTENT_BROKEN_OFF"


class Content:
    """A file's bytes as an iterator of pieces: `count` from `first` on, of `size`.

    It holds a place for long answers until `close`.
    """

    def __init__(self, backup: Backup, path: bytes, refusal: Refusal, part: ByteRange | None = None) -> None:
        """Start the engine and wait for its word that the file is there; `refusal` is asked before each piece.

        Raises RepositoryNotReachableError, LookupFailedError, PathNotInBackupError, ValidationFailedError,
        RangeNotSatisfiableError, TooManyLongAnswersError.
        """
        if not PLACES.take():
            raise TooManyLongAnswersError(
                "As many downloads and followers are served now as this server has places for.",
                hint="Ask again in a few seconds; SYNCOVA_WEB_THREADS makes more places.",
            )
        self.is_part = part is not None
        self._refusal, self._open = refusal, contextlib.ExitStack()
        self._open.callback(PLACES.give_back)
        try:
            self._begin(backup, path, part or ByteRange(None, None))
        except BaseException:
            self.close()
            raise
        self._pieces = self._read()

    def __iter__(self) -> "Content":
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        """End the engine and free the place; may be repeated."""
        self._open.close()

    def _begin(self, backup: Backup, path: bytes, part: ByteRange) -> None:
        location = backup.repository.location
        if not location.startswith("/"):
            raise _unreachable(backup, path, "it lies on a remote medium, whose credentials only workers have")
        access = repository_access(repository_id=backup.repository_id)
        pipe, theirs = os.pipe()
        order = LookOrder(
            manifest_id=backup.manifest_id, path=path, descriptor=theirs, first=part.first, last=part.last
        )
        try:
            child = spawn(_environment(), "content", (theirs,))
        except BaseException:
            os.close(pipe)
            raise
        finally:
            # The pipe ends with the child only where nobody else has its other end open.
            os.close(theirs)
        self._pipe = pipe
        self._process = self._open.enter_context(EngineProcess(_request(access, order), child=child))
        # First of all: a child that still writes is told by it, and leaves the repository in order.
        self._open.callback(os.close, pipe)
        begins = _begun(self._awaited(), backup, path)
        self.size, self.first, self.count = begins.size, begins.first, begins.count

    def _awaited(self) -> ContentBegins | Finished | Failed:
        """Return the first event that decides."""
        ends_at = clock.monotonic() + SILENT_SECONDS
        while clock.monotonic() < ends_at and not STOPPING.is_set():
            event = self._process.next_event(_LOOK_SECONDS)
            if isinstance(event, ContentBegins | Finished | Failed):
                if self._process.stderr_tail:
                    logger.error("The engine of a download ended with: %s", single_line(self._process.stderr_tail))
                return event
        return Failed(error=ErrorInfo(code="LOOKUP_TIMEOUT", message="the medium does not answer"))

    def _read(self) -> Generator[bytes, None, None]:
        sent, ends_at = 0, clock.monotonic() + MOST_SECONDS
        while piece := self._piece(ends_at):
            self._refuse_ended()
            sent += len(piece)
            yield piece
        if sent != self.count:
            # Its headers have promised more: this ends the connection, and the client knows.
            raise ContentBrokenOffError(f"{sent:,} of {self.count:,} bytes were sent: the rest cannot be read.")

    def _refuse_ended(self) -> None:
        try:
            refusal = self._refusal()
        except Error as error:
            raise ContentBrokenOffError(f"The download ended, since {reason_of(error)}.") from error
        if refusal is not None:
            raise ContentBrokenOffError(f"The download ended, since its next request would be refused: {refusal}")

    def _piece(self, ends_at: float) -> bytes:
        """Return the next bytes, b"" at the pipe's end."""
        silent_at = clock.monotonic() + SILENT_SECONDS
        while clock.monotonic() < min(ends_at, silent_at) and not STOPPING.is_set():
            if select.select([self._pipe], [], [], _LOOK_SECONDS)[0]:
                return os.read(self._pipe, _PIECE)
        raise ContentBrokenOffError("The download took too long, or the server stops.")


def _environment() -> dict[str, str]:
    """Return what the child needs to be the same interpreter as this one; nothing else of the server's environment."""
    found = {name: env.foreign(name) for name in _OF_THE_INTERPRETER}
    path = ":".join(filter(None, (_ROOT, env.foreign("PYTHONPATH"))))
    return {name: value for name, value in found.items() if value is not None} | {"PYTHONPATH": path}


def _request(access: Opened, order: LookOrder) -> Request:
    known = RememberedState(repository_id=access.expected_id or "", state=access.remembered)
    password = access.password.decode("utf-8")
    repository = RepositoryAccess(location=access.location, password=password, remembered=known)
    return Request(operation="content", repository=repository, look=order)


def _begun(event: ContentBegins | Finished | Failed, backup: Backup, path: bytes) -> ContentBegins:
    """Return which bytes come, or raise why none do."""
    if isinstance(event, ContentBegins):
        return event
    if isinstance(event, Failed):
        raise _failed(event.error, backup, path)
    if "other_type" in event.result:
        raise ValidationFailedError(
            f"{show_path(path or b'/')} is no regular file but a {event.result['other_type']}.",
            hint="Restore it, or download the files in it.",
            details={"path": ["Is no regular file."]},
        )
    if "beyond" in event.result:
        raise RangeNotSatisfiableError(event.result["beyond"])
    raise PathNotInBackupError(
        f"Backup {backup.backup_id} does not hold the path: {event.result.get('missing')}.",
        hint=f"GET /api/v1/repositories/{backup.repository_id}/backups/{backup.id}/files lists what it holds.",
    )


def _failed(error: ErrorInfo, backup: Backup, path: bytes) -> SyncovaError:
    if error.code in _OF_THE_REPOSITORY:
        return LookupFailedError(show_text(error.message), hint=show_text(error.hint), details={"code": error.code})
    return _unreachable(backup, path, show_text(error.message))


def _unreachable(backup: Backup, path: bytes, why: str) -> RepositoryNotReachableError:
    command = command_for(backup, path)
    return RepositoryNotReachableError(
        f"The server itself does not reach repository {show_text(backup.repository.name)}: {why}.",
        hint="On a machine that does, and as a user who may read it, type the command in details; or restore the path.",
        details={"command": command, "worker_group": backup.repository.worker_group},
    )


def command_for(backup: Backup, path: bytes) -> str | None:
    """Return the command that reads the file where the repository is reached; None where it would be too long."""
    name = path.rstrip(b"/").rpartition(b"/")[2] or b"content"
    words = ["./syncova", "repo", "dump", shlex.quote(backup.repository.location), backup.manifest_id, _quoted(path)]
    command = " ".join([*words, "--output", _quoted(name)])
    return command if len(command) <= _LONGEST_COMMAND else None


def _quoted(name: bytes) -> str:
    """Return a name as one word of a shell, all of it printable ASCII where it is not plain text."""
    text = show_path(name)
    if text.encode() == name:
        # A name that begins with a dash would be an option.
        return shlex.quote(f"./{text}" if text.startswith("-") else text)
    return (
        "$'"
        + "".join(chr(each) if 0x20 <= each < 0x7F and each not in b"'\\" else f"\\x{each:02x}" for each in name)
        + "'"
    )
