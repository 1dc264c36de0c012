"""Each precaution of the protocol left out: the state model must then show what it is there for (3.8).

So the model can fail, and none of these precautions is superfluous.
"""

from typing import Any

import pytest

from tests.engine.model.exploring import HoleError, explore
from tests.engine.model.medium import Objects, without
from tests.engine.model.noting import Noter
from tests.engine.model.pruning import Prune
from tests.engine.model.rotating import Remover, Rotation
from tests.engine.model.start import FIRST, SPARED
from tests.engine.model.writer import Writer

BESIDE_A_PRUNE = (Writer("w"), Prune("p"))
BESIDE_A_ROTATION = (Writer("w"), Rotation())
BESIDE_BOTH = (Writer("w"), Prune("p"), Rotation())
BROUGHT_BACK = (Prune("p"), Noter("f", "forget"), Noter("u", "undelete"))
QUICK = ("quick",)
LATE = (Writer("w", QUICK), Prune("p"), Noter("f", "forget", ("w",)), Noter("u", "undelete", ("w",)))
GUARDS: dict[str, tuple[tuple[Any, ...], str]] = {
    "what is marked counts as absent": (BESIDE_A_PRUNE, "lost"),
    "a commit makes sure of its packs": (BESIDE_A_PRUNE, "lost"),
    "its segment gets the new fence": (BESIDE_A_PRUNE, "cannot find"),
    "a look at the marks after the manifest": (BESIDE_A_PRUNE, "counts no longer"),
    "marks are listed before sweeps": (BESIDE_A_PRUNE, "counts no longer|lost"),
    "what has an older fence is void": (BESIDE_A_PRUNE, "lost|cannot find"),
    "manifests are listed again after the mark": (BESIDE_A_PRUNE, "lost|counts no longer"),
    "manifests are listed before segments": ((Writer("w", ("in haste",)), Prune("p")), "cannot find"),
    "the new index is put before the old one goes": (BESIDE_A_PRUNE, "cannot find"),
    "segments are judged by a sweep that is read after them": ((Writer("v"), Writer("w"), Prune("p")), "cannot find"),
    "no merge while a mark waits": ((Prune("p"), Writer("w", ("merges", "quick")), Writer("v")), "cannot find|lost"),
    "nothing marked is adopted": ((Writer("w", ("adopts",)), Prune("p")), "lost"),
    "a prune looks for others before it deletes": ((Prune("q"), Prune("p", ("repacks",))), "lost|cannot find"),
    "no place is chosen in a pack that is swept": ((Prune("q"), Prune("p", ("repacks", "full"))), "lost|cannot find"),
    "a commit looks for announcements": (BESIDE_A_ROTATION, "counts no longer"),
    "a rotation announces itself before it lists": (BESIDE_A_ROTATION, "counts no longer"),
    "a rotation looks at its announcement after the intent": (
        (Writer("w"), Rotation(), Remover()),
        "counts no longer",
    ),
    "a rotation lists manifests before segments": (BESIDE_A_ROTATION, "cannot find"),
    "marks and sweeps are in the inventory": (BESIDE_BOTH, "cannot find|lost|counts no longer"),
    "a prune looks at the keys before it deletes": (BESIDE_BOTH, "cannot find|lost"),
    "holds and tombstones are read again after the mark": (BROUGHT_BACK, "counts no longer"),
    "nobody is told that a backup is safe while a prune decides": (BROUGHT_BACK, "counts no longer"),
    "what was put after the mark is left to the next prune": (LATE, "counts no longer"),
}


@pytest.mark.parametrize("guard", GUARDS)
def test_what_a_precaution_is_there_for(guard: str) -> None:
    processes, reason = GUARDS[guard]
    require_hole(FIRST, processes, guard, reason)


def test_why_a_sweep_names_what_the_earlier_one_took() -> None:
    """A prune sleeps before it deletes; the next one spared the same pack, and a backup would take it for good."""
    processes = (Writer("w", ("adopts", "quick")), Prune("q", ("spares",)), Prune("p"))
    require_hole(SPARED, processes, "a sweep names what the earlier one took", "lost")


def require_hole(medium: Objects, processes: tuple[Any, ...], guard: str, reason: str) -> None:
    with without(guard), pytest.raises(HoleError, match=reason):
        explore(medium, *processes, tells_way=False)
