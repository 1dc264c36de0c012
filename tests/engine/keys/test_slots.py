"""Slots and recovery codes: only the right secret opens, damage is told, costs are bounded."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repositories.engine.errors import IntegrityError, UnsupportedFormatError
from repositories.engine.format.clear import wrap_clear
from repositories.engine.format.kinds import ObjectKind
from repositories.engine.format.records import encode
from repositories.engine.ids import ChunkKind
from repositories.engine.keys.kdf import KdfParameters
from repositories.engine.keys.keyring import KeyringRecord, new_keyring_record, open_keyring
from repositories.engine.keys.recovery import format_recovery_code, parse_recovery_code
from repositories.engine.keys.slots import Slot, SlotOwner, SlotRole, make_slot, parse_slot, slot_to_bytes
from tests.engine.fakes import CHEAP, START_NS, RepeatableRandomness

OWNER = SlotOwner(b"r" * 16, 1, SlotRole.PASSWORD, "laptop", START_NS)


def new_slot() -> Slot:
    return make_slot(OWNER, b"secret", b"K" * 32, CHEAP, RepeatableRandomness())


def test_a_slot_opens_with_its_secret_only() -> None:
    slot = parse_slot(slot_to_bytes(new_slot()))
    assert slot.open(b"secret") == b"K" * 32
    assert slot.open(b"Secret") is None
    assert slot.open(b"") is None
    assert slot.facts.label == "laptop"


def test_facts_are_bound() -> None:
    """Whoever changes what a slot says in clear makes it open for nobody."""
    slot = new_slot()
    facts = encode(msgspec.structs.replace(slot.facts, label="evil"))
    changed = Slot(slot.facts, msgspec.structs.replace(slot.record, facts=facts))
    assert changed.open(b"secret") is None


def test_a_slot_commits_to_its_key() -> None:
    """The tag is checked before anything is decrypted, and a right tag over a wrong key is damage."""
    slot = new_slot()
    assert Slot(slot.facts, msgspec.structs.replace(slot.record, commitment=b"c" * 32)).open(b"secret") is None
    with pytest.raises(IntegrityError):
        Slot(slot.facts, msgspec.structs.replace(slot.record, sealed_key=bytes(48))).open(b"secret")


@pytest.mark.parametrize(
    "kdf",
    [
        KdfParameters(2 * 1024 * 1024, 1, 1),
        KdfParameters(64, 65, 1),
        KdfParameters(64, 0, 1),
        KdfParameters(1_000_000, 1, 65),
        KdfParameters(7, 1, 1),
        KdfParameters(64, 1, 0),
    ],
)
def test_costs_of_foreign_slots_are_bounded(kdf: KdfParameters) -> None:
    """Checked before anything is allocated."""
    slot = new_slot()
    facts = msgspec.structs.replace(slot.facts, memory_kib=kdf.memory_kib, iterations=kdf.iterations, lanes=kdf.lanes)
    with pytest.raises(IntegrityError, match="out of bounds"):
        Slot(facts, slot.record).open(b"secret")


def test_reserved_slot_types_are_unsupported() -> None:
    slot = new_slot()
    facts = encode(msgspec.structs.replace(slot.facts, slot_type=2))
    data = wrap_clear(ObjectKind.SLOT, encode(msgspec.structs.replace(slot.record, facts=facts)))
    with pytest.raises(UnsupportedFormatError):
        parse_slot(data)


def test_default_costs_are_the_documented_ones() -> None:
    assert msgspec.structs.astuple(KdfParameters()) == (65_536, 3, 4)


def test_the_pinned_recovery_code() -> None:
    code = format_recovery_code(bytes(range(20)))
    assert code == "000G-40R4-0M30-E209-185G-R38E-1W81-24GK-ZRBK"
    assert parse_recovery_code(code.encode()) == bytes(range(20))


@given(st.binary(min_size=20, max_size=20))
def test_recovery_codes_round_trip_as_people_type_them(secret: bytes) -> None:
    code = format_recovery_code(secret)
    assert len(code) == 44
    typed = code.lower().replace("-", " ").replace("0", "o").replace("1", "l")
    assert parse_recovery_code(code.encode()) == parse_recovery_code(f"  {typed}\n".encode()) == secret


@given(st.binary(min_size=20, max_size=20), st.integers(0, 35), st.integers(1, 31))
def test_one_mistyped_character_is_no_recovery_code(secret: bytes, place: int, shift: int) -> None:
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    characters = list(format_recovery_code(secret).replace("-", ""))
    characters[place] = alphabet[(alphabet.index(characters[place]) + shift) % 32]
    parsed = parse_recovery_code("".join(characters).encode())
    assert parsed is None or place < 32, "a change in the checksum alone is always found"
    assert parsed != secret


@pytest.mark.parametrize("text", [b"", b"correct horse battery staple", b"\xff" * 36, b"0" * 35, b"U" * 36])
def test_passwords_are_no_recovery_codes(text: bytes) -> None:
    assert parse_recovery_code(text) is None


def keyring() -> KeyringRecord:
    return new_keyring_record(b"r" * 16, START_NS, RepeatableRandomness(), padding=False)


def test_chunk_ids_are_keyed_and_differ_by_kind() -> None:
    opened = open_keyring(keyring())
    assert len({opened.chunk_id(kind, b"content") for kind in ChunkKind}) == 3
    other = open_keyring(new_keyring_record(b"r" * 16, START_NS, RepeatableRandomness(b"x"), padding=False))
    assert other.chunk_id(ChunkKind.DATA, b"content") != opened.chunk_id(ChunkKind.DATA, b"content")


def test_secrets_never_show() -> None:
    record = keyring()
    shown = repr(open_keyring(record)) + repr(record) + repr(record.epochs) + repr(record.chunkers)
    keys = [
        *(epoch.key for epoch in record.epochs),
        *(chunk_id_key.key for chunk_id_key in record.chunk_id_keys),
        *(chunker.key for chunker in record.chunkers),
    ]
    for key in keys:
        assert key.hex() not in shown
        assert repr(key) not in shown


def test_incomplete_keyrings_are_refused() -> None:
    whole = keyring()
    for bad in (
        msgspec.structs.replace(whole, current_epoch=2),
        msgspec.structs.replace(whole, chunk_id_keys=whole.chunk_id_keys[:2]),
        msgspec.structs.replace(whole, epochs=(msgspec.structs.replace(whole.epochs[0], key=b"short"),)),
    ):
        with pytest.raises(IntegrityError):
            open_keyring(bad)
    with pytest.raises(IntegrityError):
        open_keyring(msgspec.structs.replace(whole, current_chunker=9)).chunker()
    with pytest.raises(IntegrityError):
        open_keyring(whole).epoch_key(2)
