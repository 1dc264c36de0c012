"""The plan of a prune: which packs go whole, which are repacked. Pure.

Owns the policy. Packs that nothing uses go. Of the rest those with the greatest unused share are repacked until what
stays unused is a small enough part of all; small packs of one class are merged once they fill half of a pack; and after
a rotation a tenth of all is sealed under the new key by each prune.
"""

from collections.abc import Iterable
from typing import Final

from repositories.engine.packs.directory import PackClass
from repositories.engine.prune.report import PackUse, PrunePlan

RESEALED_SHARE: Final = 0.1


def make_plan(uses: Iterable[PackUse], max_unused: float, pack_target: int) -> PrunePlan:
    """Return what to do with these packs. A pack that is spared, damaged or in no index is never repacked."""
    packs = list(uses)
    delete = tuple(pack for pack in packs if not pack.used and not pack.spared)
    staying = [pack for pack in packs if pack.used or pack.spared]
    ready = [pack for pack in staying if pack.used and pack.listed and pack.whole and not pack.spared]
    every = (*_worst(ready, staying, max_unused), *_small(ready, pack_target), *_retired(ready, staying))
    chosen = {pack.pack_id: pack for pack in every}
    return PrunePlan(
        delete=delete,
        repack=tuple(chosen.values()),
        packs=len(packs),
        bytes=sum(pack.length for pack in packs),
        unused_before=sum(pack.unused for pack in packs if pack.whole),
        unused_after=sum(pack.unused for pack in staying if pack.whole and pack.pack_id not in chosen),
        spared=sum(1 for pack in staying if pack.spared and not pack.used),
    )


def _worst(ready: list[PackUse], staying: list[PackUse], max_unused: float) -> Iterable[PackUse]:
    unused = sum(pack.unused for pack in staying if pack.whole)
    allowed = max_unused * sum(pack.length for pack in staying)
    for pack in sorted(ready, key=lambda each: (each.used / each.length, each.pack_id)):
        if unused <= allowed or not pack.unused:
            return
        unused -= pack.unused
        yield pack


def _small(ready: list[PackUse], pack_target: int) -> Iterable[PackUse]:
    """Merging costs reading and writing: a pack of a quarter is left alone, and what is merged is at least a half."""
    for pack_class in PackClass:
        small = [pack for pack in ready if pack.pack_class == pack_class and pack.length < pack_target // 4]
        if len(small) > 1 and sum(pack.used for pack in small) >= pack_target // 2:
            yield from small


def _retired(ready: list[PackUse], staying: list[PackUse]) -> Iterable[PackUse]:
    allowed = RESEALED_SHARE * sum(pack.length for pack in staying)
    for pack in sorted(ready, key=lambda each: each.pack_id):
        if pack.retired and allowed > 0:
            allowed -= pack.used
            yield pack
