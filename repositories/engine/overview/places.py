"""All places of all chunks of a repository in little memory, also where its index is damaged.

Owns that look. What no readable segment names is taken from the packs' own directories: whoever only reads may take
any.
"""

from repositories.engine.display import show_count
from repositories.engine.index.catalogue import Catalogue, packs_of
from repositories.engine.index.recovery import read_unnamed
from repositories.engine.packs.reader import PackReader
from repositories.engine.prune.compact import CompactIndex
from repositories.engine.repository import Repository
from repositories.engine.sessions.views import accepted_by_newest_sweep


def places_of(repository: Repository) -> CompactIndex:
    """Return the index as it is listed now. Raises the storage's errors."""
    index = CompactIndex()
    # A catalogue of its own, so that the records of a large repository are let go of once they are in the index.
    catalogue = Catalogue(repository.store)
    live = catalogue.live(accepted_by_newest_sweep(repository.store))
    for pack in packs_of(live):
        index.add(pack)
    # Each repository is made with a segment: without any, all of them are gone.
    if catalogue.lost() or not live:
        known = {pack.pack_id for pack in index.packs}
        unnamed = read_unnamed(repository.store, PackReader(repository.store), lambda: known | _named_now(repository))
        for pack in unnamed.packs:
            index.add(pack)
        if unnamed.packs:
            repository.warn(
                f"the index is damaged: {show_count(len(unnamed.packs), 'pack')} that it does not name were found by "
                "their own directories; run syncova-repo repair"
            )
    return index


def _named_now(repository: Repository) -> set[bytes]:
    """Return the packs that readable segments name by now: what was put meanwhile is not lost, only not counted."""
    accepts = accepted_by_newest_sweep(repository.store)
    return {pack.pack_id for pack in packs_of(Catalogue(repository.store).live(accepts))}
