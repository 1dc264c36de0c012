"""The suite's two shares: every test is in one of them, and neither can hide that the other failed."""

import os
import signal
from pathlib import Path

import pytest

from tests import suite

TESTS = Path(suite.__file__).parent


def test_every_test_is_in_exactly_one_share() -> None:
    first, second = suite.SHARES
    ignored = {word.removeprefix("--ignore=") for word in first[1:]}
    assert first[0] == "tests"
    assert ignored == set(second)
    assert all((TESTS.parent / path).is_dir() for path in second)


@pytest.mark.parametrize(
    "given", [(), ("--color=no",), ("-q", "-x"), ("-k", "restore"), ("--durations", "5"), ("--tb", "short", "-v")]
)
def test_the_whole_suite_is_parted(given: tuple[str, ...]) -> None:
    assert suite.is_whole(given)


@pytest.mark.parametrize("given", [("tests/engine",), ("-q", "tests/x.py::test"), ("--pdb",), ("--collect-only",)])
def test_a_part_is_not(given: tuple[str, ...]) -> None:
    assert not suite.is_whole(given)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([0, 0], 0), ([1, 0], 1), ([0, 1], 1), ([5, 0], 0), ([0, 5], 0), ([5, 5], 5), ([2, 1], 2), ([-9, 0], 9)],
)
def test_a_failure_of_either_share_is_the_suites(codes: list[int], expected: int) -> None:
    assert suite.combined(codes) == expected


def test_the_figures_of_both_are_added() -> None:
    first = "===== 2 failed, 10 passed, 1 skipped in 3.21s ====="
    second = "5 passed, 1 error in 1.00s (0:00:01)"
    assert suite.summary(first, second) == "both shares: 2 failed, 15 passed, 1 skipped, 1 error\n"


def test_both_shares_run_and_show_what_they_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second one's failure is told, though the first passes."""
    good, bad = tmp_path / "test_good.py", tmp_path / "test_bad.py"
    good.write_text("def test_one(): pass\n")
    bad.write_text("def test_two(): assert not 'a failure of the second'\n")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    options = ("-p", "no:cacheprovider", f"--rootdir={tmp_path}", "-c", os.devnull)
    monkeypatch.setattr(suite, "SHARES", ((*options, str(good)), (*options, str(bad))))
    try:
        assert suite.main([str(tmp_path / "t"), "-q", "--color=no"]) == 1
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    shown = capfd.readouterr().out
    assert "a failure of the second" in shown
    assert "both shares: 1 passed, 1 failed" in shown
