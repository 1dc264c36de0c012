"""What this machine has seen of repositories: one small file each, below a directory that the caller names.

Owns the files and what follows from them: a repository that shows an earlier state is read only until that is
confirmed. A memory that cannot be read or written is as none; it must never keep anybody from a restore.
"""

import contextlib
import os
import tempfile
from pathlib import Path

import msgspec

from repositories.engine.errors import EngineError, RepositoryRolledBackError
from repositories.engine.process.requests import RepositoryAccess
from repositories.engine.repository import Repository
from repositories.engine.rollback import HighWater, judge, merge, read_high_water

_UNUSABLE = (OSError, msgspec.DecodeError)


class SeenStates:
    """The memory of one opened repository."""

    def __init__(self, directory: str, repository: Repository) -> None:
        self._repository = repository
        self._path = Path(directory) / f"{repository.id}.json"

    def look(self, *, accept: bool) -> None:
        """Compare what is there with what was seen. An earlier state makes the repository read only, with a warning.

        With `accept` it is what is remembered from now on. What cannot be read is left to the operation to tell.
        """
        with contextlib.suppress(EngineError):
            self._look(accept=accept)

    def _look(self, *, accept: bool) -> None:
        remembered, now = self._read(), read_high_water(self._repository)
        reason = "" if accept else judge(self._repository, remembered, now)
        if reason:
            self._repository.refuse_writing = RepositoryRolledBackError(
                f"the repository shows an earlier state than before: {reason}",
                hint="is it an old copy? If this is as it should be: syncova-repo check LOCATION --accept-rollback",
            )
            self._repository.warn(
                f"the repository shows an earlier state than before: {reason}; nothing is written until that is "
                "confirmed with syncova-repo check --accept-rollback"
            )
            return
        self._write(remembered, now if accept else merge(remembered, now))

    def note(self) -> None:
        """Remember what an operation has added: it is done, whatever the medium says now."""
        if self._repository.refuse_writing is None:
            remembered = self._read()
            with contextlib.suppress(EngineError):
                self._write(remembered, merge(remembered, read_high_water(self._repository)))

    def _read(self) -> HighWater:
        with contextlib.suppress(*_UNUSABLE):
            return msgspec.json.decode(self._path.read_bytes(), type=HighWater)
        return HighWater()

    def _write(self, before: HighWater, state: HighWater) -> None:
        if state == before:
            return
        with contextlib.suppress(OSError):
            # Each by itself, since a mode is given to the last one alone.
            for directory in reversed(self._path.parents[:3]):
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._path.parent, prefix=".seen-")
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(state))
            Path(name).replace(self._path)


def watch(access: RepositoryAccess, repository: Repository) -> SeenStates | None:
    """Look at the memory that `access` names; return it, or None where there is none."""
    if access.seen_directory is None:
        return None
    states = SeenStates(access.seen_directory, repository)
    states.look(accept=access.accept_rollback)
    return states
