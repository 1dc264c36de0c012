"""What is typed from paper: what does not matter is forgiven, what does is told without showing it (3.5)."""

import pytest

from repositories.engine.keys.recovery import format_recovery_code, mistake_in_code, parse_recovery_code

CODE = format_recovery_code(bytes(range(20)))


def exchanged(code: str, at: int) -> str:
    return code[:at] + code[at + 1] + code[at] + code[at + 2 :]


@pytest.mark.parametrize(
    "typed",
    [CODE.lower(), CODE.replace("-", " "), CODE.replace("-", ""), f"\n {CODE} ", CODE.replace("0", "O")],
)
def test_what_does_not_matter_is_forgiven(typed: str) -> None:
    assert parse_recovery_code(typed.encode()) == bytes(range(20))
    assert mistake_in_code(typed.encode()) == ""


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (exchanged(CODE, 3 + 2), "two are exchanged"),
        (exchanged(CODE.lower(), 5).replace("-", " "), "two are exchanged"),
        (exchanged(CODE, 6).replace("-", ""), "two are exchanged"),
        (CODE.replace("ZRBK", "ZRBJ"), "a character is wrong"),
        (CODE[:-1], "fewer than 36"),
        (CODE[:-5], "fewer than 36"),
        (CODE[: len(CODE) // 2 - 2], "fewer than 36"),
        (CODE + "0", "more than 36"),
        (CODE.replace("K", "U"), "letter U"),
    ],
)
def test_a_mistake_is_named(typed: str, told: str) -> None:
    assert parse_recovery_code(typed.encode()) is None
    mistake = mistake_in_code(typed.encode())
    assert told in mistake
    assert typed not in mistake


def test_every_exchange_of_neighbours_that_differ_is_found() -> None:
    for at in range(len(CODE) - 1):
        typed = exchanged(CODE, at).encode()
        same = typed.replace(b"-", b"") == CODE.encode().replace(b"-", b"")
        assert (mistake_in_code(typed) == "") is same


@pytest.mark.parametrize(
    "password",
    [b"", b"correct horse battery staple", b"\xff" * 36, b"U" * 36, b"a" * 35, b"one two three four five six seven!"],
)
def test_passwords_are_not_taken_for_codes(password: bytes) -> None:
    assert mistake_in_code(password) == ""


@pytest.mark.parametrize("dash", ["\u2010", "\u2011", "\u2013", "\u2014", "\u2212", "\u00a0", "\u202f", " \u2013 "])
def test_what_word_processors_make_of_dashes_does_not_matter(dash: str) -> None:
    """Nor does the mark that some editors put before the first character of a file."""
    assert parse_recovery_code(("\ufeff" + CODE.replace("-", dash)).encode()) == parse_recovery_code(CODE.encode())
    assert parse_recovery_code(b"\xff" + CODE.encode()) is None
