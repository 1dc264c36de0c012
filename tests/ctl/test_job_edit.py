"""Jobs changed, renamed and looked back at from the command line (E6, B6, H1, H7)."""

import pytest

from jobs.ctl.api import Api
from jobs.ctl.server import find_server
from jobs.models import Job, Schedule
from tests.api.builders import NOBODY
from tests.ctl.conftest import Ctl

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def home(ctl: Ctl) -> None:
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    words = ("--daily", "02:00", "--time-zone", "Europe/Berlin", "--exclude", "*.tmp", "--rpo", "26h")
    made = ctl("job", "create", "home", "--source", "/home", "--source", "/etc", "-r", "vault", *words)
    assert made.code == 0, made.err


@pytest.mark.usefixtures("home")
def test_what_is_given_changes_and_all_else_stays(ctl: Ctl) -> None:
    """E6: schedule, limits, rules and switches, each alone."""
    before = Schedule.objects.get()
    edited = ctl("job", "edit", "home", "--priority", "high", "--strict", "--max-runtime", "12h", "--json").json
    assert (edited["priority"], edited["strict"], edited["max_runtime_seconds"]) == ("high", True, 43200)
    assert (edited["revision"], edited["rpo_seconds"], len(edited["sources"])) == (2, 93600, 2)
    assert Schedule.objects.get().next_at == before.next_at
    edited = ctl("job", "edit", "home", "--time-zone", "Asia/Tokyo", "--missed", "6h", "--json").json
    assert edited["schedule_description"] == "daily at 02:00 (Asia/Tokyo)"
    assert edited["schedules"][0].items() >= {"missed": "once_within", "missed_within_seconds": 21600}.items()
    edited = ctl("job", "edit", "home", "--no-excludes", "--hook", "before-job=dump", "--rpo", "none", "--json").json
    assert ([one["exclude_patterns"] for one in edited["sources"]], edited["rpo_seconds"]) == ([[], []], None)
    edited = ctl("job", "edit", "home", "--every", "6h", "--no-hooks", "--no-strict", "--json").json
    assert (edited["schedule_description"], edited["hooks"], edited["strict"]) == ("every 6 hours", [], False)
    assert Schedule.objects.get().id == before.id
    edited = ctl("job", "edit", "home", "--manual", "--source", "/srv", "--json").json
    assert (edited["schedules"], [one["path"] for one in edited["sources"]]) == ([], ["/srv"])
    assert Job.objects.get().revision_number == 6


@pytest.mark.usefixtures("home")
def test_another_schedule_keeps_zone_and_policy_and_a_grid_its_anchor(ctl: Ctl) -> None:
    """E6: only what is given changes."""
    assert ctl("job", "edit", "home", "--missed", "6h").code == 0
    policy = {"missed": "once_within", "missed_within_seconds": 21600}
    for words, sentence in (
        (("--weekly", "mon@02:30"), "weekly on Monday at 02:30 (Europe/Berlin)"),
        (("--daily", "04:00"), "daily at 04:00 (Europe/Berlin)"),
        (("--hourly", "5"), "hourly at minute 5 (Europe/Berlin)"),
        (("--monthly", "1@04:00"), "monthly on day 1 at 04:00 (Europe/Berlin)"),
        (("--cron", "0 4 * * *"), "daily at 04:00 (Europe/Berlin)"),
        (("--weekly", "mon@02:30", "--time-zone", "Asia/Tokyo"), "weekly on Monday at 02:30 (Asia/Tokyo)"),
        (("--every", "1d"), "every 24 hours"),
    ):
        edited = ctl("job", "edit", "home", *words, "--rpo", "none", "--json").json
        assert edited["schedule_description"] == sentence
        assert edited["schedules"][0].items() >= policy.items()
    job, anchor = Job.objects.get(), "2026-01-01T00:30:00+00:00"
    body = {"schedule": {"type": "interval", "every_seconds": 21600, "anchor": anchor} | policy}
    Api(find_server()).patch(f"jobs/{job.id}", body, job.revision_number)
    edited = ctl("job", "edit", "home", "--every", "8h", "--missed", "never", "--json").json["schedules"][0]
    assert (edited["anchor"], edited["every_seconds"], edited["missed"]) == (anchor, 28800, "never")


@pytest.mark.usefixtures("home")
def test_what_is_paused_or_flagged_is_told_so_and_is_due_never(ctl: Ctl) -> None:
    """5.6, H7: in both lists, and on the job's page."""
    Schedule.objects.update(definition=[1])
    for words in (("status",), ("job", "list")):
        (line,) = [one for one in ctl(*words).out.splitlines() if one.startswith("home")]
        assert ("! flagged" in line, "active" in line, " - " in line) == (True, False, True)
    assert "must be an object with a type" in ctl("job", "show", "home").out
    assert ctl("job", "edit", "home", "--daily", "02:00").code == 0
    ctl("job", "pause", "home")
    (line,) = [one for one in ctl("status").out.splitlines() if one.startswith("home")]
    assert (line.split()[1:3], line.split()[-1]) == (["‖", "paused"], "-")
    ctl("job", "resume", "home")
    ctl("job", "edit", "home", "--manual", "--rpo", "none")
    assert "only by hand" in ctl("status").out


@pytest.mark.usefixtures("home")
def test_a_deleted_job_says_by_its_id_why_an_instant_did_not_run(ctl: Ctl) -> None:
    """H7, D3."""
    job = Job.objects.get()
    Schedule.objects.update(next_at=job.created_at)
    assert ctl("job", "delete", "home", "--yes").code == 0
    assert "the job was deleted" in ctl("job", "decisions", str(job.id)).out


@pytest.mark.usefixtures("home")
def test_what_a_deleted_job_did_is_found_by_its_name_too(ctl: Ctl) -> None:
    """D3: as long as no other job has it, and as far as that is one deleted job's alone."""
    first = str(Job.objects.get().id)
    run_id = ctl("job", "run", "home", "--json").json["id"]
    assert ctl("job", "delete", "home", "--yes").code == 0
    for word in ("HOME", first):
        assert [one["id"] for one in ctl("run", "list", "--job", word, "--json").json["runs"]] == [run_id]
        assert "no backups" in ctl("backup", "list", "--job", word).out
        assert len(ctl("job", "revisions", word, "--json").json["revisions"]) == 1
    refused = ctl("job", "show", first)
    assert "The job home was deleted at 20" in refused.err
    assert f"ctl run list --job {first}" in refused.err
    assert "there is no job home" in ctl("job", "show", "home").err
    for word in ("other", NOBODY):
        for verb in (["run", "list", "--job"], ["backup", "list", "--job"], ["job", "revisions"]):
            assert (ctl(*verb, word).code, "there is no job" in ctl(*verb, word).err.lower()) == (1, True), verb
    assert ctl("job", "create", "home", "--source", "/home", "-r", "vault").code == 0
    assert ctl("run", "list", "--job", "home", "--json").json["runs"] == []
    ctl("job", "run", "home")
    assert ctl("job", "delete", "home", "--yes").code == 0
    several = ctl("run", "list", "--job", "home")
    second = str(Job.objects.latest("created_at").id)
    assert (several.code, first in several.err, second in several.err) == (1, True, True)


@pytest.mark.usefixtures("home")
def test_a_rename_keeps_the_next_run_and_is_told_apart_from_no_change(ctl: Ctl) -> None:
    """5.9."""
    renamed = ctl("job", "rename", "home", "house")
    assert (renamed.code, "house" in renamed.out) == (0, True)
    assert "nothing was changed" in ctl("job", "edit", "house", "--priority", "normal").err
    assert ctl("job", "show", "home").code == 1


@pytest.mark.usefixtures("home")
def test_contradictions_and_emptiness_are_refused(ctl: Ctl) -> None:
    for words in (
        (),
        ("--manual", "--daily", "03:00"),
        ("--daily", "03:00", "--every", "6h"),
        ("--exclude", "x", "--no-excludes"),
        ("--hook", "after-job=x", "--no-hooks"),
        ("--rpo", "1h"),
        ("--daily", "25:00"),
    ):
        refused = ctl("job", "edit", "home", *words)
        assert (refused.code, refused.err.startswith("error: ")) == (2, True), refused.err
    assert Job.objects.get().revision_number == 1


@pytest.mark.usefixtures("home")
def test_one_schedule_of_several_is_named_by_the_server(ctl: Ctl) -> None:
    job = Job.objects.get()
    second = Schedule.objects.get()
    second.pk = job.id
    second.save(force_insert=True)
    refused = ctl("job", "edit", "home", "--daily", "03:00", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "SCHEDULE_AMBIGUOUS")
    assert ctl("job", "edit", "home", "--time-zone", "UTC").code == 2


@pytest.mark.usefixtures("home")
def test_a_job_tells_when_it_is_due_why_it_did_not_run_and_what_it_was(ctl: Ctl) -> None:
    """B6, H1, H7."""
    ctl("window", "create", "always", "--at", "00:00", "--for", "7d", "--job", "home")
    shown = ctl("job", "preview", "home", "--limit", "2")
    assert "daily at 02:00 (Europe/Berlin)" in shown.out
    assert (shown.out.count("no free instant"), shown.out.count("always")) == (2, 2)
    assert len(ctl("job", "preview", "home", "--limit", "370", "--json").json["instants"]) == 370
    assert ctl("job", "decisions", "home").out == "every planned instant became a run\n"
    moment = Schedule.objects.get().created_at
    ctl("job", "pause", "home")
    Schedule.objects.update(next_at=moment)
    ctl("job", "resume", "home")
    assert "1 planned run not run: the job was paused." in ctl("job", "decisions", "home").out
    ctl("job", "rename", "home", "house")
    told = ctl("job", "revisions", "house")
    # A window of the job's own is one of its revisions, too.
    assert [line.split()[0] for line in told.out.splitlines()[1:]] == ["3", "2", "1"]
    assert "token:ctl" in told.out
