"""The fence rule, pure: which manifests and segments count (engine.md, section 5).

Owns the decision only; reading marks and sweeps is the caller's. No clock takes part in it.
"""

from collections.abc import Sequence

import msgspec

from repositories.engine.errors import IntegrityError
from repositories.engine.ids import OBJECT_ID_LENGTH


class FenceLostError(IntegrityError):
    """No copy of a prune's mark or sweep can be read: what counts, and what may be gone soon, is not known."""

    code = "FENCE_LOST"


class MarksView(msgspec.Struct, frozen=True):
    """What the marks said at one moment: the highest number (the fence of whoever looked) and all marked packs.

    `waiting`: there is a mark that no sweep has followed yet.
    """

    highest: int = 0
    packs: frozenset[bytes] = frozenset()
    waiting: bool = False


class SweepView(msgspec.Struct, frozen=True):
    """The newest sweep: its number (0: none yet) and the ids it accepts from before."""

    number: int = 0
    manifests: frozenset[bytes] = msgspec.field(default_factory=frozenset)
    checkpoints: frozenset[bytes] = msgspec.field(default_factory=frozenset)
    segments: frozenset[bytes] = msgspec.field(default_factory=frozenset)

    def accepts_manifest(self, manifest_id: bytes, fence: int) -> bool:
        """Tell whether a manifest counts: its fence is not older than the sweep, or the sweep names it."""
        return fence >= self.number or manifest_id in self.manifests

    def accepts_checkpoint(self, checkpoint_id: bytes, fence: int) -> bool:
        """Tell whether a checkpoint counts, by the same rule: what it refers to may be gone otherwise."""
        return fence >= self.number or checkpoint_id in self.checkpoints

    def accepts_segment(self, segment_id: bytes, fence: int) -> bool:
        """Tell whether an index segment counts, by the same rule."""
        return fence >= self.number or segment_id in self.segments


def split_ids(joined: bytes) -> frozenset[bytes]:
    """Return the 16-byte ids of a joined list."""
    return frozenset(joined[at : at + OBJECT_ID_LENGTH] for at in range(0, len(joined), OBJECT_ID_LENGTH))


def join_ids(ids: Sequence[bytes] | frozenset[bytes]) -> bytes:
    """Return ids as records hold them: sorted and joined."""
    return b"".join(sorted(ids))
