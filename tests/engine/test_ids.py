"""Ids: UUIDv7, backup ids (A8), short ids."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repositories.engine.ids import backup_id, short_id, uuid7

RUN = uuid.UUID("01890000-0000-7000-8000-000000000000")


def test_uuid7_has_version_variant_and_time() -> None:
    made = uuid7(1_700_000_000_123_456_789)
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == 1_700_000_000_123
    assert uuid7(1_700_000_000_123_456_789) != made


def test_uuid7_sorts_by_time_within_a_millisecond() -> None:
    times = [1_700_000_000_000_000_000 + step * 1_000 for step in range(2_000)]
    made = [uuid7(time) for time in times]
    assert made == sorted(made)


@given(st.binary(max_size=300))
def test_backup_ids_are_plain_short_and_tell_the_run(source: bytes) -> None:
    """A8: at most 64 characters, no separators, no leading dots, no `..`, the run can be read."""
    made = backup_id(RUN, "filesystem", source)
    assert made.startswith(f"run-{RUN}-")
    assert len(made) <= 64
    assert "/" not in made
    assert ".." not in made
    assert not made.removeprefix(f"run-{RUN}-").startswith((".", "-"))
    assert made.isascii()
    assert made.isprintable()


def test_sources_of_one_run_never_share_an_id() -> None:
    """A8: the hash is over type and id together, unambiguously."""
    sources = [("filesystem", b"/srv/a"), ("filesystem", b"/srv/a/"), ("files", b"ystem/srv/a"), ("filesystem", b"")]
    assert len({backup_id(RUN, kind, source) for kind, source in sources}) == len(sources)


@pytest.mark.parametrize(
    ("source", "readable"),
    [(b"/home/ann/docs", "home-ann-docs"), (b"/", "root"), (b"/srv/../..x", "srv-.-.x"), (b"/a\xff b", "a-b")],
)
def test_the_readable_part(source: bytes, readable: str) -> None:
    assert backup_id(RUN, "filesystem", source).removeprefix(f"run-{RUN}-").rpartition("-")[0] == readable


def test_short_ids_differ_for_runs_of_one_moment() -> None:
    ids = {short_id(backup_id(uuid7(1_700_000_000_000_000_000), "filesystem", b"/")) for _ in range(50)}
    assert len(ids) == 50
    assert all(len(each) == 8 for each in ids)
    assert short_id("x") == "3ae7d805"
