"""What was seen of repositories before, and what follows when one shows an earlier state: it is read only.

Owns the two places of that memory: one small file for each repository, below a directory that the caller names, and
what came with the request of a caller that keeps it itself. A file that cannot be read or written is as none; it must
never keep anybody from a restore.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator

import msgspec

from repositories.engine.errors import EngineError, RepositoryRolledBackError
from repositories.engine.fresh_files import make_private_directories, new_file
from repositories.engine.high_water import HighWater, confirmed, merge
from repositories.engine.process.requests import RememberedState, RepositoryAccess
from repositories.engine.repository import Repository
from repositories.engine.rollback import is_overtaken, judge, read_high_water

_DRAFT = ".seen-"
_UNUSABLE = (OSError, msgspec.DecodeError)
_ASK = "is it an old copy? What is gone can be brought back from a copy of the repository. If this is as it should be: "
_HERE = f"{_ASK}syncova-repo check LOCATION --accept-rollback"
_AT_THE_CALLER = f"{_ASK}./syncova ctl repository unfreeze"


class SeenStates:
    """The memory of one opened repository in a file of this machine."""

    def __init__(self, directory: str, repository: Repository) -> None:
        self._repository = repository
        self._directory = directory
        self._path = os.path.join(directory, f"{repository.id}.json")

    def look(self, *, accept: bool) -> None:
        """Compare what is there with what was seen. An earlier state makes the repository read only, with a warning.

        With `accept` it is what is remembered from now on. What cannot be read is left to the operation to tell.
        """
        remembered = self._read()
        with contextlib.suppress(EngineError):
            now, _ = _compare(self._repository, remembered, accept=accept, hint=_HERE)
            if now is not None:
                self._keep(remembered, now, accept=accept)

    def note(self) -> None:
        """Remember what an operation has added: it is done, whatever the medium says now."""
        if self._repository.refuse_writing is None:
            remembered = self._read()
            with contextlib.suppress(EngineError):
                self._keep(remembered, read_high_water(self._repository, remembered))

    def _read(self) -> HighWater:
        with contextlib.suppress(*_UNUSABLE), open(self._path, "rb") as file:
            return msgspec.json.decode(file.read(), type=HighWater)
        return HighWater()

    def _keep(self, before: HighWater, now: HighWater, *, accept: bool = False) -> None:
        """Add a look to what is kept by now, or with `accept` let it take its place."""
        with contextlib.suppress(OSError):
            make_private_directories(self._directory, 3)
            with _alone(self._directory) as is_alone:
                if is_alone:
                    self._remove_left_over()
                kept = self._read()
                state = confirmed(kept, now) if accept else merge(before, now, kept)
                if state != kept:
                    self._write(state)

    def _write(self, state: HighWater) -> None:
        descriptor, name = new_file(self._directory, _DRAFT)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(state))
        os.replace(name, self._path)

    def _remove_left_over(self) -> None:
        """Remove what a killed process, or one without room, left half written; nobody else writes meanwhile."""
        for name in os.listdir(self._directory):
            if name.startswith(_DRAFT):
                os.unlink(os.path.join(self._directory, name))


class ToldState:
    """The memory that the caller keeps: `seen` is what a look showed, for the caller to add; None: nothing to add.

    `reason` is why that is an earlier state, empty if it is none.
    """

    def __init__(self, remembered: RememberedState, repository: Repository) -> None:
        self._repository = repository
        # Another repository in its place is no earlier state of it.
        self._remembered = remembered.state if remembered.repository_id == repository.id else HighWater()
        self.seen: HighWater | None = None
        self.reason = ""

    def look(self) -> None:
        """Compare what is there with what the caller remembers; as `SeenStates.look`."""
        with contextlib.suppress(EngineError):
            self.seen, self.reason = _compare(self._repository, self._remembered, accept=False, hint=_AT_THE_CALLER)

    def note(self) -> None:
        """See what an operation has added."""
        if self._repository.refuse_writing is None:
            with contextlib.suppress(EngineError):
                self.seen = read_high_water(self._repository, self._remembered)


def watch(access: RepositoryAccess, repository: Repository) -> SeenStates | ToldState | None:
    """Look at the memory that `access` names or holds; return it, or None where there is none."""
    if access.remembered is not None:
        told = ToldState(access.remembered, repository)
        told.look()
        return told
    if access.seen_directory is None:
        return None
    states = SeenStates(os.fsdecode(access.seen_directory), repository)
    states.look(accept=access.accept_rollback)
    return states


def _compare(repository: Repository, remembered: HighWater, *, accept: bool, hint: str) -> tuple[HighWater | None, str]:
    """Return what the repository shows, None if that is not to be remembered; and why it is an earlier state."""
    repository.fence_seen = remembered.highest_number
    now = read_high_water(repository, remembered)
    reason = "" if accept else judge(repository, remembered, now)
    if not reason:
        return now, ""
    if is_overtaken(repository):
        return None, ""
    message = f"the repository shows an earlier state than before: {reason}"
    repository.refuse_writing = RepositoryRolledBackError(message, hint=hint)
    repository.warn(f"{message}; nothing is written until that is confirmed. {hint[0].upper()}{hint[1:]}")
    return None, reason


@contextlib.contextmanager
def _alone(directory: str) -> Iterator[bool]:
    """Let one process at a time change what is kept here; give whether the file system can tell."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        is_alone = False
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            is_alone = True
        yield is_alone
    finally:
        os.close(descriptor)
