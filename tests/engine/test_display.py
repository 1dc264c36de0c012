"""The one function that shows a path, and how sizes and times are written."""

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repositories.engine.display import (
    path_fields,
    show_bytes,
    show_count,
    show_duration,
    show_names,
    show_path,
    show_text,
    show_time,
    time_field,
)

_ESCAPE = re.compile(rb"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
HOSTILE = [
    (b"a\nb", r"a\x0ab"),
    (b"\x1b[31mred", r"\x1b[31mred"),
    (b"tab\tdel\x7f", r"tab\x09del\x7f"),
    ("rtl\u202etxt.exe".encode(), r"rtl\u202etxt.exe"),
    ("zero\u200bwidth\u2066".encode(), r"zero\u200bwidth\u2066"),
    ("c1\u0085\u009b31m".encode(), r"c1\u0085\u009b31m"),
    ("line\u2028break".encode(), r"line\u2028break"),
    ("tag\U000e0041".encode(), r"tag\U000e0041"),
    (b"caf\xe9", r"caf\xe9"),
    (b"\xed\xa0\x80", r"\xed\xa0\x80"),
    (rb"back\slash", r"back\\slash"),
    (b"a[/b].txt", "a[/b].txt"),
    (b"<script>&", "<script>&"),
    ("Grüße 日本 😀".encode(), "Grüße 日本 😀"),
    (b"", ""),
]


def read_shown(shown: str) -> bytes:
    """Return the bytes that `show_path` was given."""
    return _ESCAPE.sub(_unescape, shown.encode("utf-8"))


def _unescape(match: re.Match[bytes]) -> bytes:
    backslash, byte, short, long = match.groups()
    if backslash:
        return b"\\"
    if byte:
        return bytes([int(byte, 16)])
    return chr(int(short or long, 16)).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(("raw", "shown"), HOSTILE)
def test_hostile_names_are_shown_harmlessly(raw: bytes, shown: str) -> None:
    assert show_path(raw) == shown
    assert shown.isprintable()


@given(st.binary(max_size=64))
def test_every_name_can_be_read_back_from_what_is_shown(raw: bytes) -> None:
    shown = show_path(raw)
    assert shown.isprintable()
    assert read_shown(shown) == raw


@given(st.text(max_size=32))
def test_names_in_utf8_can_be_read_back_too(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    assert read_shown(show_path(raw)) == raw


@given(st.binary(max_size=8), st.lists(st.one_of(st.binary(min_size=1, max_size=8), st.just(b"plain")), min_size=1))
def test_many_names_are_shown_as_each_of_them(directory: bytes, names: list[bytes]) -> None:
    whole = [directory + b"/" + name if directory else name for name in names]
    assert show_names(directory, names) == "\n".join(map(show_path, whole))


def test_json_carries_the_bytes_only_where_the_text_is_not_the_name() -> None:
    assert path_fields(b"/srv/plain") == {"path": "/srv/plain"}
    fields = path_fields(b"/srv/\xff")
    assert fields["path"] == r"/srv/\xff"
    assert base64.b64decode(fields["path_base64"]) == b"/srv/\xff"
    assert "path_base64" in path_fields(rb"a\b")


def test_foreign_text_is_shown_like_names() -> None:
    assert show_text("host\u202e\n\x1b") == r"host\u202e\x0a\x1b"
    assert show_text("lone\ud800\udc85") == r"lone\ud800\x85"
    assert show_text(r"plain [bold] C:\x") == r"plain [bold] C:\x"


def test_times_also_those_that_no_calendar_reaches() -> None:
    assert show_time(1_796_000_000_123_456_789) == "2026-11-30 00:53:20 UTC"
    assert time_field(1_796_000_000_123_456_789).endswith(".123456Z")
    assert time_field(-1) == "1969-12-31T23:59:59.999999Z"
    assert show_time(10**21) == "1000000000000000000000 ns"
    assert time_field(-(10**25)) == "-10000000000000000000000000 ns"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536 * 1024, "1.50 MiB"),
        (10 * 2**20, "10.0 MiB"),
        (999 * 2**20, "999 MiB"),
        (1023 * 2**20, "1.00 GiB"),
        (2**60, "1.00 EiB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert show_bytes(count) == text


def test_counts() -> None:
    assert [show_count(count, "file") for count in (0, 1, 1234)] == ["0 files", "1 file", "1,234 files"]
    nouns = ("directory", "entry", "key", "earlier recovery code")
    assert [show_count(2, each) for each in nouns] == [
        "2 directories",
        "2 entries",
        "2 keys",
        "2 earlier recovery codes",
    ]
    assert [show_count(1, each) for each in nouns] == [f"1 {each}" for each in nouns]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (59.9, "59.9 s"), (59.96, "1 min 00 s"), (185.2, "3 min 05 s"), (7620, "2 h 07 min"), (-1, "0.0 s")],
)
def test_durations(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text
