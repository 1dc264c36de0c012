"""Refusals of the server in the words of the command line, each said once."""

import pytest

from jobs.ctl.refusals import option_of
from jobs.ctl.refusals import refusal as refuse
from tests.ctl.conftest import Ctl


@pytest.mark.django_db(transaction=True)
def test_a_state_that_there_is_not_lists_those_there_are(ctl: Ctl) -> None:
    refused = ctl("run", "list", "--state", "bogus")
    assert refused.code == 2
    assert refused.err.startswith("error: --state: must be one of queued, running, succeeded")
    assert "See details" not in refused.err
    assert refused.err.count("bogus") == 1


def test_a_sentence_about_an_end_names_the_option_of_the_start() -> None:
    told = refuse("VALIDATION_FAILED", "", "", {"ends_at": ["must be later than starts_at."]})
    assert told.failure.message == "--until: must be later than --from"


@pytest.mark.django_db(transaction=True)
def test_a_refused_option_is_named_once_and_as_it_was_typed(ctl: Ctl) -> None:
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    create = ("job", "create", "x", "--source", "/x", "-r", "vault")
    for words, begin in (
        (("--daily", "25:00"), "error: --daily: "),
        (("--max-attempts", "99"), "error: --max-attempts: "),
        (("--rpo", "1h", "--every", "6h"), "error: --rpo: "),
        (("--every", "1s"), "error: --every: must be from 1min to 366d, not 1s\n"),
        (("--every", "30x"), "error: --every: 30x is no length of time\n"),
        (("--rpo", "6"), "error: --rpo: 6 is no length of time\n"),
        (("--max-runtime", "9000d"), "error: --max-runtime: ensure this value is less than or equal to 3660d\n"),
    ):
        refused = ctl(*create, *words)
        assert refused.code == 2
        assert refused.err.startswith(begin), refused.err
        assert "schedules" not in refused.err
        assert "_" not in refused.err


@pytest.mark.parametrize(
    ("field", "option"),
    [
        ("sources.3.path", "--source"),
        ("sources.0.exclude_patterns.2", "--exclude"),
        ("schedules.0.time_zone", "--time-zone"),
        ("max_attempts", "--max-attempts"),
        ("a.b.c", "a.b.c"),
    ],
)
def test_fields_are_options(field: str, option: str) -> None:
    assert option_of(field) == option


def test_what_is_no_field_is_told_as_the_server_said_it() -> None:
    error = refuse("JOB_ACTIVE", "It runs.", "Wait.", {"run_id": "7"})
    assert (error.failure.message, error.failure.hint, error.fields) == ("It runs.", "Wait.", {})


def test_a_command_to_type_stands_in_the_hint() -> None:
    """And a hint that does not speak of it, as that of another version, loses nothing."""
    for hint, told in (
        ("There, type the command in details; or restore.", "There, type ./syncova repo dump; or restore."),
        ("Go there:", "Go there: ./syncova repo dump"),
    ):
        error = refuse("REPOSITORY_NOT_REACHABLE", "Away.", hint, {"command": "./syncova repo dump"})
        assert error.failure.hint == told
    assert refuse("LOOKUP_FAILED", "Damaged.", "", {"code": "INTEGRITY"}).failure.exit_code == 13


@pytest.mark.django_db(transaction=True)
def test_a_window_that_is_open_too_long_is_told_in_the_options_own_words(ctl: Ctl) -> None:
    for words in (["create", "w"], ["create", "w", "--dry-run"]):
        refused = ctl("window", *words, "--at", "08:00", "--for", "8d")
        told = "error: --for: must be at most 7d: what is open for longer has --from and --until, and opens once\n"
        assert (refused.code, refused.err) == (2, told)


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("must be from 60 to 31622400, not 30.", "must be from 1min to 366d, not 30s"),
        ("must be at most 129600.", "must be at most 1d12h"),
        ("must be above 0, not 3661.", "must be above 0s, not 1h1min1s"),
        ("must be 1.5 or x7 or 7x.", "must be 1.5 or x7 or 7x"),
    ],
)
def test_seconds_are_told_as_the_option_takes_them(sentence: str, told: str) -> None:
    error = refuse("VALIDATION_FAILED", "", "", {"schedules.0.every_seconds": [sentence]})
    assert error.failure.message == f"--every: {told}"
