"""Records and clear objects: canonical bytes, fields that come later, damage, features."""

import msgspec
import pytest

from repositories.engine.errors import IntegrityError, UnsupportedFormatError
from repositories.engine.format.clear import unwrap_clear, wrap_clear
from repositories.engine.format.config import (
    FORMAT,
    Config,
    config_to_bytes,
    parse_config,
    unknown_write_features,
)
from repositories.engine.format.kinds import (
    DIRECTORIES,
    ObjectKind,
    names_of,
    newest_generation,
    object_id_of,
    object_name,
)
from repositories.engine.format.notes import AnnotationRecord
from repositories.engine.format.records import decode, encode

NOTE = AnnotationRecord(1, b"m" * 16, 2**40, "höld", None, None)


def test_records_are_arrays_in_shortest_form() -> None:
    assert encode(NOTE).hex() == "9601c410" + "6d" * 16 + "cf0000010000000000a568c3b66c64c0c0"
    assert decode(encode(NOTE), AnnotationRecord) == NOTE


def test_fields_of_the_future_are_passed_over_and_absent_ones_take_their_defaults() -> None:
    longer = msgspec.msgpack.encode([1, b"m" * 16, 5, "t", None, None, {"new": 1}, 7])
    assert decode(longer, AnnotationRecord) == AnnotationRecord(1, b"m" * 16, 5, "t")
    shorter = msgspec.msgpack.encode([1, b"m" * 16, 5, "t"])
    assert decode(shorter, AnnotationRecord).expires_ns is None


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x90", encode(NOTE)[:-3], msgspec.msgpack.encode([1.5, b"", 5, "t"])])
def test_what_is_no_record_is_an_integrity_error(data: bytes) -> None:
    with pytest.raises(IntegrityError):
        decode(data, AnnotationRecord)


def test_every_flipped_bit_of_a_clear_object_is_found() -> None:
    data = wrap_clear(ObjectKind.CONFIG, b"payload")
    assert unwrap_clear(ObjectKind.CONFIG, data) == b"payload"
    for at in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            with pytest.raises(IntegrityError):
                unwrap_clear(ObjectKind.CONFIG, bytes(changed))


def test_clear_objects_of_other_kinds_and_lengths_are_refused() -> None:
    data = wrap_clear(ObjectKind.CONFIG, b"payload")
    with pytest.raises(IntegrityError):
        unwrap_clear(ObjectKind.SLOT, data)
    for bad in (b"", data[:-1], data + b"\0", bytes(70_000)):
        with pytest.raises(IntegrityError):
            unwrap_clear(ObjectKind.CONFIG, bad)


def test_features() -> None:
    """Unknown read features refuse the repository, unknown write features make it read-only."""
    assert unknown_write_features((), ("parity", "aardvark")) == ("aardvark", "parity")
    with pytest.raises(UnsupportedFormatError, match="parity"):
        unknown_write_features(("parity",), ())
    config = Config(FORMAT, b"r" * 16, 5, (), ("later",))
    assert parse_config(config_to_bytes(config)) == config
    with pytest.raises(UnsupportedFormatError, match="format 2"):
        parse_config(config_to_bytes(Config(2, b"r" * 16, 5)))


def test_names() -> None:
    object_id = bytes.fromhex("ab" + "01" * 15)
    assert object_name(ObjectKind.PACK, object_id) == f"packs/ab/{object_id.hex()}"
    assert object_name(ObjectKind.SLOT, object_id, "00000001") == f"slots/00000001/{object_id.hex()}"
    assert names_of(ObjectKind.INDEX, "index/x") == ("index/x", "copies/index/x")
    assert names_of(ObjectKind.PACK, "packs/x") == ("packs/x",)
    assert object_id_of(f"marks/{object_id.hex()}") == object_id
    for name in ("marks/x", "marks/" + "g" * 32, "marks/" + "AB" * 16, ""):
        assert object_id_of(name) is None
    assert newest_generation(["keyrings/00000002/x", "keyrings/0000000a/y", "keyrings/zz/y", "keyrings/x"]) == 10
    assert newest_generation([]) == 0


def test_numbers_of_kinds_are_pinned() -> None:
    first = ["config", "keyrings", "slots", "packs", "index", "manifests", "checkpoints", "annotations"]
    rest = ["tombstones", "sessions", "marks", "sweeps", "controllers", "verified", "damage", "inventories"]
    rest += ["keychanges", "intents"]
    assert [(kind.value, DIRECTORIES[kind]) for kind in ObjectKind] == list(enumerate(first + rest, 1))
