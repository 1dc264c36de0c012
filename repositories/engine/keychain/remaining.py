"""How much is still sealed under keys from before the last rotation. Owns the count only."""

from dataclasses import dataclass

from repositories.engine.format.headers import parse_object_header
from repositories.engine.index.catalogue import Catalogue, packs_of
from repositories.engine.objects.store import ObjectStore
from repositories.engine.sessions.views import accepted_by_newest_sweep


@dataclass(frozen=True, slots=True)
class Remaining:
    """Packs under older keys, and their bytes on the medium."""

    packs: int = 0
    bytes: int = 0


def sealed_before(store: ObjectStore, catalogue: Catalogue) -> Remaining:
    """Return what the live index lists of packs under older epochs. Raises the storage's errors.

    Reads the index only after a rotation: before it there is nothing to count.
    """
    epoch = store.keyring.current_epoch
    if len(store.keyring.record.epochs) == 1:
        return Remaining()
    live = catalogue.live(accepted_by_newest_sweep(store))
    older = {pack.pack_id: pack.length for pack in packs_of(live) if parse_object_header(pack.header).epoch != epoch}
    return Remaining(len(older), sum(older.values()))
