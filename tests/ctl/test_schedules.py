"""Schedules from options: each kind, and a server that is older than the program (B1, B6)."""

import pytest

from jobs.calendar import registry
from jobs.models import Job, Schedule
from tests.ctl.conftest import Ctl

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def vault(ctl: Ctl) -> None:
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0


@pytest.mark.usefixtures("vault")
def test_kinds_that_an_older_server_does_not_have_are_named(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {kind: parse for kind, parse in registry.KINDS.items() if kind != "cron"}
    monkeypatch.setattr(registry, "KINDS", kept)
    refused = ctl("job", "create", "c", "--source", "/c", "-r", "vault", "--cron", "0 2 * * *", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "SCHEDULE_NOT_AVAILABLE")
    assert refused.json["error"]["message"] == "this server cannot plan cron schedules yet"
    assert not Job.objects.exists()


@pytest.mark.usefixtures("vault")
def test_what_says_nothing_without_a_schedule_is_refused_and_a_day_is_named_by_its_option(ctl: Ctl) -> None:
    create = ("job", "create", "x", "--source", "/x", "-r", "vault")
    for words, sentence in (
        (("--missed", "6h"), "--missed needs --daily, "),
        (("--time-zone", "UTC"), "--time-zone needs --daily, "),
        (("--monthly", "0@22:00"), "--monthly: "),
        (("--weekly", "sat,foo@22:00"), "--weekly: a day of the week is one of mon, "),
    ):
        refused = ctl(*create, *words)
        assert (refused.code, refused.err.startswith(f"error: {sentence}")) == (2, True), refused.err
    assert not Job.objects.exists()


@pytest.mark.usefixtures("vault")
def test_a_preview_begins_where_it_is_told_to(ctl: Ctl) -> None:
    """B6: what a day of shifted clocks will bring, long before it; judged as the API judges it."""
    create = ("job", "create", "x", "--source", "/x", "-r", "vault", "--daily", "02:30", "--time-zone", "Europe/Berlin")
    assert ctl(*create).code == 0
    told = ctl("job", "preview", "x", "--from", "2027-03-27T12:00:00+01:00", "--limit", "2", "--json").json["instants"]
    assert [(one["utc"], one["notes"]) for one in told] == [
        ("2027-03-28T01:30:00Z", ["gap"]),
        ("2027-03-29T00:30:00Z", []),
    ]
    assert "--from is empty" in ctl("job", "preview", "x", "--from", "").err
    for start in ("2027-03-27T12:00:00", "yesterday", "9998-12-30T00:00:00Z"):
        refused = ctl("job", "preview", "x", "--from", start, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (2, "VALIDATION_FAILED")
        assert refused.json["error"]["message"].startswith("--from: ")


@pytest.mark.usefixtures("vault")
def test_a_preview_tells_what_merges(ctl: Ctl) -> None:
    """B6, D1."""
    assert ctl("job", "create", "x", "--source", "/x", "-r", "vault", "--hourly", "0").code == 0
    assert ctl("window", "create", "office", "--at", "08:00", "--for", "2h").code == 0
    told = ctl("job", "preview", "x", "--from", "2027-06-01T07:30:00Z", "--limit", "2")
    assert "MERGES INTO" in told.out
    assert "coalesced" in told.out.splitlines()[-1]
    assert told.out.splitlines()[-1].rstrip().endswith("2027-06-01 08:00 UTC")


@pytest.mark.usefixtures("vault")
def test_by_hand_runs_only_what_no_schedule_plans(ctl: Ctl) -> None:
    """B8: a job whose schedules are flagged has some, and the reason is told."""
    create = ("job", "create", "x", "--source", "/x", "-r", "vault")
    assert ctl(*create, "--daily", "02:30").code == 0
    flagged = {"state": "flagged", "next_at": None}
    Schedule.objects.update(**flagged, state_code="unplannable", state_parameters={"message": "no such zone"})
    told = ctl("job", "preview", "x")
    assert (told.code, "by hand" in told.out) == (0, False)
    assert "no planned instant; Cannot be planned: no such zone" in told.out
    assert ctl("window", "create", "always", "--at", "00:00", "--for", "7d").code == 0
    Schedule.objects.update(**flagged, state_code="no_free_instant", state_parameters={"held": "blackout - always"})
    told = ctl("job", "preview", "x")
    assert (told.out.count("no free instant"), "by hand" in told.out, "paused" in told.out) == (10, False, False)
    assert ctl("job", "pause", "x").code == 0
    assert "paused: nothing runs until `job resume`; it would be due:" in ctl("job", "preview", "x").out
    assert ctl("job", "create", "y", "--source", "/y", "-r", "vault").code == 0
    assert "runs by hand only" in ctl("job", "preview", "y").out


@pytest.mark.usefixtures("vault")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--hourly", "30"], "hourly at minute 30 (UTC)"),
        (
            ["--weekly", "sat,Sun@22:00", "--time-zone", "Asia/Tokyo"],
            "weekly on Saturday and Sunday at 22:00 (Asia/Tokyo)",
        ),
        (["--monthly", "1,last@02:00"], "monthly on day 1 and the last day at 02:00 (UTC)"),
        (["--cron", "*/15 9-17 * * mon-fri"], "every 15 minutes from 09:00 to 17:59 on Monday to Friday (UTC)"),
    ],
)
def test_every_kind_of_schedule_has_its_option(ctl: Ctl, words: list[str], sentence: str) -> None:
    """B1, B6."""
    made = ctl("job", "create", "x", "--source", "/x", "-r", "vault", *words, "--json")
    assert made.code == 0, made.err
    assert made.json["schedule_description"] == sentence
    assert made.json["next_run_at"]
