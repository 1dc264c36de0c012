"""The type of a repository's chunk hash, which a restore compares what it finds on disk with.

Owns a name only.
"""

from collections.abc import Callable

from repositories.engine.ids import ChunkKind

ChunkHash = Callable[[ChunkKind, bytes], bytes]
"""Returns the keyed id of a chunk."""
