"""The config object: the one clear record of a repository.

Owns its fields and the feature rule: an unknown read feature refuses the repository, an unknown write feature makes it
read-only. Its bytes are the associated data of every keyring, so a changed config opens nothing.
"""

from repositories.engine.display import show_text
from repositories.engine.errors import UnsupportedFormatError
from repositories.engine.format.clear import unwrap_clear, wrap_clear
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import Record, decode, encode

FORMAT = 1
KNOWN_READ_FEATURES: frozenset[str] = frozenset()
KNOWN_WRITE_FEATURES: frozenset[str] = frozenset()


class Config(Record, frozen=True):
    """What `config/<id>` says in clear."""

    format: int
    repository_id: bytes
    created_ns: int
    read_features: tuple[str, ...] = ()
    write_features: tuple[str, ...] = ()


def config_to_bytes(config: Config) -> bytes:
    """Return the object bytes of a config."""
    return wrap_clear(ObjectKind.CONFIG, encode(config))


def parse_config(data: bytes) -> Config:
    """Parse a config object. Raises IntegrityError when damaged, UnsupportedFormatError for a newer format."""
    config = decode(unwrap_clear(ObjectKind.CONFIG, data), Config)
    if config.format != FORMAT:
        raise UnsupportedFormatError(
            f"the repository has format {config.format}; this program knows format {FORMAT}",
            hint="use a newer Syncova",
        )
    return config


def unknown_write_features(read_features: tuple[str, ...], write_features: tuple[str, ...]) -> tuple[str, ...]:
    """Return the write features not known here. Raises UnsupportedFormatError for an unknown read feature."""
    unknown = sorted(set(read_features) - KNOWN_READ_FEATURES)
    if unknown:
        raise UnsupportedFormatError(
            f"the repository needs {show_text(', '.join(unknown))} to be read, not known here",
            hint="use a newer Syncova",
        )
    return tuple(sorted(set(write_features) - KNOWN_WRITE_FEATURES))
