"""What wrappers around a storage share: each request goes to the storage inside.

Owns no behaviour. What Storage builds of other requests (`sizes`, `list_all`, `move`) is built of the wrapper's own
here, so that what it adds to them holds there too; a wrapper that adds nothing to them may pass these on as well.
"""

from collections.abc import Iterable, Iterator

from repositories.engine.storage.base import ObjectRange, Storage, StoredObject


class DelegatingStorage(Storage):
    """Passes everything to `inner`. Thread safe as `inner` is."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner

    @property
    def place(self) -> str:
        """Return where the medium is."""
        return self.inner.place

    def shown(self, name: str) -> str:
        """Return where an object is."""
        return self.inner.shown(name)

    @property
    def refuses_existing(self) -> bool:
        """Tell whether a name that is there is refused."""
        return self.inner.refuses_existing

    @property
    def puts_at_once(self) -> int:
        """Return how many packs may be under way."""
        return self.inner.puts_at_once

    @property
    def reads_at_once(self) -> int:
        """Return how many reads may be under way."""
        return self.inner.reads_at_once

    @property
    def looks_are_cheap(self) -> bool:
        """Tell whether asking for sizes one by one takes hardly longer than all at once."""
        return self.inner.looks_are_cheap

    def will_read(self, ranges: Iterable[ObjectRange]) -> None:
        """Pass the hint on."""
        self.inner.will_read(ranges)

    def give_up_reading(self) -> None:
        """Pass it on."""
        self.inner.give_up_reading()

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Put."""
        self.inner.put(name, data, overwrite=overwrite)

    def put_file(self, name: str, path: str) -> None:
        """Put a file."""
        self.inner.put_file(name, path)

    def get(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Read."""
        return self.inner.get(name, offset, length)

    def size(self, name: str) -> int:
        """Return the size."""
        return self.inner.size(name)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List."""
        return self.inner.list(prefix)

    def delete(self, name: str) -> None:
        """Remove an object."""
        self.inner.delete(name)

    def free_space(self) -> int | None:
        """Return the free bytes."""
        return self.inner.free_space()

    def listing_delay(self) -> float:
        """Return how long others may see older listings."""
        return self.inner.listing_delay()

    def scratch_directory(self) -> str | None:
        """Return the scratch directory."""
        return self.inner.scratch_directory()

    def prepare(self) -> None:
        """Prepare the medium."""
        self.inner.prepare()
