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
        (("--every", "1s"), "error: --every: "),
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
