"""What lists of pages say about the pages below them, held against each other while they are walked.

Owns the checks that keep a walk finite: the first keys of pages strictly rise along it, so that no page, readable or
lost, is entered a second time, however often and on however many levels lists name it.
"""

from repositories.engine.errors import IntegrityError
from repositories.engine.manifest.entries import Entry
from repositories.engine.manifest.order import directory_key
from repositories.engine.manifest.pages import PENDING_LIMIT, PageRef

Key = tuple[bytes, bytes]


class PageOrder:
    """Follows one walk, depth first. The page at the top has no key: nothing names its first entry."""

    def __init__(self) -> None:
        self._last: Key | None = None

    def enter(self, page: PageRef, *, leaf: bool) -> None:
        """Go on to a page; raises IntegrityError when it cannot come now."""
        if page.directory is None:
            return
        key = key_of(page)
        if self._last is not None and key <= self._last:
            raise IntegrityError(f"manifest page {page.id.hex()} comes twice or out of order")
        if leaf:
            self._last = key

    def lost(self, page: PageRef) -> None:
        """Pass by a page that cannot be read, and all below it."""
        self.enter(page, leaf=True)


def check_list(page: PageRef, refs: list[PageRef], pending: int) -> None:
    """Raise IntegrityError unless these can be what list `page` names; `pending` pages are waiting already."""
    name = f"manifest page {page.id.hex()}"
    if sum(ref.count for ref in refs) != page.count:
        raise IntegrityError(f"{name} has another count than the list above it says")
    if pending + len(refs) > PENDING_LIMIT:
        raise IntegrityError(f"{name} is a list that is wider than any backup makes them")
    last: Key | None = None
    for ref in refs:
        key = key_of(ref)
        if last is not None and key <= last:
            raise IntegrityError(f"{name} lists pages twice or out of order")
        last = key
    if page.directory is not None and key_of(refs[0]) != key_of(page):
        raise IntegrityError(f"{name} begins with another entry than the list above it says")


def check_count(page: PageRef, seen: int) -> None:
    """Raise IntegrityError unless a page holds as many entries as the list above it says."""
    if seen != page.count:
        raise IntegrityError(f"manifest page {page.id.hex()} holds another number of entries than its list says")


def check_first(page: PageRef, directory: bytes, first: Entry) -> None:
    """Raise IntegrityError unless a leaf begins with the entry that the list above it names."""
    check_first_name(page, directory, first.name)


def check_first_name(page: PageRef, directory: bytes, first: bytes) -> None:
    """Raise IntegrityError unless a leaf begins with the name that the list above it names."""
    if page.directory is not None and (page.directory, page.name) != (directory, first):
        raise IntegrityError(f"manifest page {page.id.hex()} begins with another entry than the list above it says")


def key_of(page: PageRef) -> Key:
    """Return the key of a listed page's first entry; raises IntegrityError where the list does not tell it."""
    if page.directory is None or page.name is None:
        raise IntegrityError(f"manifest page {page.id.hex()} is listed without its first entry")
    return directory_key(page.directory), page.name
