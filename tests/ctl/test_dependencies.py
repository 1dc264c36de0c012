"""Dependencies, deadlines and mended repositories from the command line (C4, 6.3)."""

import pytest

from jobs.models import JobDependency
from tests.ctl.conftest import Ctl

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def jobs(ctl: Ctl) -> None:
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    assert ctl("job", "create", "database", "--source", "/d", "-r", "vault").code == 0
    made = ctl("job", "create", "offsite", "--source", "/o", "-r", "vault", "--after", "database")
    assert made.code == 0, made.err


@pytest.mark.usefixtures("jobs")
def test_a_job_waits_for_what_is_named_and_shows_it(ctl: Ctl) -> None:
    assert "database" in ctl("job", "show", "offsite").out
    cleared = ctl("job", "depend", "offsite", "--on-none")
    assert (cleared.code, "none" in cleared.out) == (0, True)
    assert not JobDependency.objects.exists()
    assert ctl("job", "depend", "offsite", "--on", "Database", "--json").json["depends_on"][0]["name"] == "database"


@pytest.mark.usefixtures("jobs")
def test_a_cycle_and_contradictions_are_refused(ctl: Ctl) -> None:
    refused = ctl("job", "depend", "database", "--on", "offsite", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "DEPENDENCY_CYCLE")
    assert "database → offsite → database" in refused.json["error"]["message"]
    assert ctl("job", "depend", "database").code == 2
    assert ctl("job", "depend", "database", "--on", "offsite", "--on-none").code == 2


@pytest.mark.usefixtures("jobs")
def test_deadlines_are_given_as_lengths_of_time(ctl: Ctl) -> None:
    words = ("--start-deadline", "2h", "--max-runtime", "12h")
    made = ctl("job", "create", "x", "--source", "/x", "-r", "vault", *words, "--json")
    assert (made.json["start_deadline_seconds"], made.json["max_runtime_seconds"]) == (7200, 43200)
    shown = ctl("job", "show", "x").out
    assert "2 h 00 min" in shown
    assert "12 h 00 min" in shown


@pytest.mark.usefixtures("jobs")
def test_a_mended_repository_is_tried_at_once(ctl: Ctl) -> None:
    told = ctl("repository", "retry", "vault")
    assert (told.code, told.out) == (0, "what waits for vault tries it at once\n")
