"""The repository with which the state model begins: two packs, one of them used by one backup."""

from typing import Final

from tests.engine.model.medium import INDEX, MANIFEST, PACK, Manifest, Objects, Pack, Segment

PACK_A: Final = Pack(PACK, "A", frozenset({"a"}))
PACK_D: Final = Pack(PACK, "D", frozenset({"d"}))
KEPT: Final = Manifest(MANIFEST, "kept", 0, 1, 0, frozenset({"a"}))
FIRST: Final[Objects] = frozenset({PACK_A, PACK_D, KEPT, Segment(INDEX, "old", 0, 1, 0, frozenset({PACK_A, PACK_D}))})
_OF_V: Final = Pack(PACK, "v", frozenset({"d"}))
SPARED: Final[Objects] = frozenset({PACK_A, _OF_V, KEPT, Segment(INDEX, "old", 0, 1, 0, frozenset({PACK_A, _OF_V}))})
"""The second pack is of a writer that has committed nothing yet: one prune takes it for alive, another for dead."""
