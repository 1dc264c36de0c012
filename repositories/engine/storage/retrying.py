"""Trying again what can pass: a storage wrapper around a backend of a remote medium.

Owns back-off, jitter and the question what an unanswered request has done. Only StorageUnreachableError is tried again;
all else (refused, missing, full) is passed on at once. A put whose answer was lost is settled by reading back. Nobody
waits long for a server that takes requests and never answers: a minute after the first failure no try begins any more,
unless one got on, and once a request was given up those that come after it are tried once, until one succeeds.
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar

from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import show_count
from repositories.engine.errors import ObjectExistsError, ObjectMissingError, StorageUnreachableError
from repositories.engine.fresh_files import remove_file
from repositories.engine.limits import MIB
from repositories.engine.storage.base import StoredObject
from repositories.engine.storage.delegating import DelegatingStorage
from repositories.engine.storage.moving import STILL_SECONDS
from repositories.engine.storage.outages import Notices
from repositories.engine.storage.remote import RemoteStorage

_COMPARED: Final = 4 * MIB
_GOT_ON: Final = STILL_SECONDS + 5.0
"""A try that took longer must have got on: one that stands still ends before."""
_T = TypeVar("_T")


def _wait(seconds: float) -> None:
    time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`tries` in all; waits `first` seconds, then twice as long each time up to `longest`; jitter takes up to half off.

    No try begins `patience` seconds or more after the first failure. `chance` returns numbers from 0 to 1; `sleep`
    waits.
    """

    tries: int = 8
    patience: float = 60.0
    first: float = 0.5
    longest: float = 20.0
    chance: Callable[[], float] = field(default=random.random, repr=False)
    sleep: Callable[[float], None] = field(default=_wait, repr=False)
    monotonic: Callable[[], float] = field(default=SYSTEM_CLOCK.monotonic, repr=False)

    def delay(self, failures: int) -> float:
        """Return how long to wait after the `failures`-th failure in a row (from 1)."""
        return self._whole(failures) * (1.0 - self.chance() / 2.0)

    def longest_wait(self, failures: int) -> float:
        """Return how long all waits together take at most, from that after the `failures`-th failure on."""
        return sum(self._whole(each) for each in range(failures, self.tries))

    def _whole(self, failures: int) -> float:
        return min(self.longest, self.first * 2.0 ** (failures - 1))


class RetryingStorage(DelegatingStorage):
    """Passes everything to `inner`, again after failures that can pass. Thread safe as `inner` is.

    `notices` are told of those failures.
    """

    inner: RemoteStorage

    def __init__(self, inner: RemoteStorage, policy: RetryPolicy | None = None, notices: Notices | None = None) -> None:
        super().__init__(inner)
        self._policy = policy or RetryPolicy()
        self._notices = notices
        self._outage = _Outage()

    def prepare(self) -> None:
        """Prepare the medium."""
        self._try(self.inner.prepare)

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put; what an unanswered try may have put is read back."""

        def is_there() -> bool:
            return self.inner.size(name) == len(data) and self.inner.get(name) == data

        self._put(lambda: self.inner.put(name, data, overwrite=overwrite), is_there)

    def put_file(self, name: str, path: str) -> None:
        """Put a file; what an unanswered try may have put is read back, and the file is gone then too."""

        def settle() -> bool:
            same = self._holds(name, path)
            if same:
                remove_file(path)
            return same

        self._put(lambda: self.inner.put_file(name, path), settle)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read."""
        return self._try(lambda: self.inner.get(name, offset, length))

    def size(self, name: str) -> int:
        """Return the size."""
        return self._try(lambda: self.inner.size(name))

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List; a listing that broke off goes on behind the last name that came."""
        last = ""
        tries = self._tries()
        while True:
            try:
                for stored in self.inner.list_from(prefix, last):
                    yield stored
                    last = stored.name
                    tries.begin_anew()
            except StorageUnreachableError as error:
                tries.wait_after(error)
            else:
                return

    def delete(self, name: str) -> None:
        """Remove an object; one that an unanswered try may have removed is no error."""
        tries = self._tries()
        while True:
            try:
                self._once(lambda: self.inner.delete(name))
            except StorageUnreachableError as error:
                tries.wait_after(error)
            except ObjectMissingError:
                if not tries.failures:
                    raise
                return
            else:
                return

    def move(self, name: str, target: str) -> None:
        """Give an object another name; a move that was done and not answered is no error."""
        tries = self._tries()
        while True:
            try:
                self._once(lambda: self.inner.move(name, target))
            except StorageUnreachableError as error:
                tries.wait_after(error)
            except (ObjectMissingError, ObjectExistsError):
                if not tries.failures or not self._try(lambda: self._is_moved(name, target)):
                    raise
                return
            else:
                return

    def _try(self, act: Callable[[], _T]) -> _T:
        tries = self._tries()
        while True:
            try:
                return self._once(act)
            except StorageUnreachableError as error:
                tries.wait_after(error)

    def _once(self, act: Callable[[], _T]) -> _T:
        is_answered = True
        try:
            return act()
        except StorageUnreachableError:
            is_answered = False
            raise
        finally:
            if is_answered:
                self._outage.given_up_at = None

    def _put(self, act: Callable[[], None], is_there: Callable[[], bool]) -> None:
        tries = self._tries()
        while True:
            try:
                self._once(act)
            except StorageUnreachableError as error:
                tries.wait_after(error)
            except ObjectExistsError:
                # Nobody else puts under a random name; ours of a moment ago may have arrived.
                if not tries.failures or not self._try(is_there):
                    raise
                return
            else:
                return

    def _is_moved(self, name: str, target: str) -> bool:
        """Tell whether an object lies under another name alone; one that lies under both loses the first."""
        try:
            length = self.inner.size(target)
        except ObjectMissingError:
            return False
        try:
            same = self.inner.size(name) == length and self.inner.get(name) == self.inner.get(target)
        except ObjectMissingError:
            return True
        if same:
            self.inner.delete(name)
        return same

    def _holds(self, name: str, path: str) -> bool:
        """Tell whether an object has the content of a file."""
        length = os.path.getsize(path)
        if self.inner.size(name) != length:
            return False
        with open(path, "rb") as file:
            for offset in range(0, length, _COMPARED):
                if self.inner.get(name, offset, _COMPARED) != file.read(_COMPARED):
                    return False
        return True

    def _tries(self) -> "_Tries":
        return _Tries(self._policy, self._notices, self._outage)


@dataclass(slots=True)
class _Outage:
    """When a request was given up, if none has succeeded since. Threads may see it a moment late."""

    given_up_at: float | None = None


class _Tries:
    """Those of one request."""

    def __init__(self, policy: RetryPolicy, notices: Notices | None, outage: _Outage) -> None:
        self.failures = 0
        self._policy = policy
        self._notices = notices
        self._outage = outage
        self._began = self._begun = self._first_failure = policy.monotonic()

    def begin_anew(self) -> None:
        """Take note that the request got on: what fails from now on is a first failure."""
        self.failures = 0
        self._outage.given_up_at = None
        self._began = self._begun = self._policy.monotonic()

    def wait_after(self, error: StorageUnreachableError) -> None:
        """Count a failure, tell of it, and wait for the next try; raise the error when there is none."""
        self.failures += 1
        policy, now = self._policy, self._policy.monotonic()
        took, left = now - self._begun, policy.tries - self.failures
        if self.failures == 1 or took > _GOT_ON:
            self._first_failure = now
        patience = policy.patience - (now - self._first_failure)
        if left <= 0 or patience <= 0 or self._is_late():
            self._outage.given_up_at = now
            raise self._given_up(error, now) from error
        if self._notices is not None:
            whole = policy.longest_wait(self.failures) + left * took
            self._notices.failed(error.message, left, min(whole, patience + took))
        policy.sleep(policy.delay(self.failures))
        self._begun = policy.monotonic()

    def _is_late(self) -> bool:
        given_up_at = self._outage.given_up_at
        return given_up_at is not None and self._began >= given_up_at

    def _given_up(self, error: StorageUnreachableError, now: float) -> StorageUnreachableError:
        took = f"{show_count(self.failures, 'try')} in {now - self._began:.0f} s"
        return StorageUnreachableError(f"{error.message} ({took})", hint=error.hint)
