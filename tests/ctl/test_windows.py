"""Windows from the command line, and runs that ignore them by right (B7, B9)."""

import json
from typing import Any

import pytest

from jobs.ctl.shapes import moment
from jobs.models import Run, Window
from syncova_project import clock
from syncova_project.access.services import token_create
from tests.ctl import worker
from tests.ctl.conftest import Ctl

pytestmark = pytest.mark.django_db(transaction=True)
OFFICE = ("--days", "mon,tue,wed,thu,fri", "--at", "08:00", "--for", "10h", "--time-zone", "Europe/Berlin")


@pytest.fixture
def home(ctl: Ctl) -> None:
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    words = ("--daily", "09:00", "--time-zone", "Europe/Berlin", "--rpo", "25h")
    assert ctl("job", "create", "home", "--source", "/home", "-r", "vault", *words).code == 0


def test_a_window_is_made_listed_shown_changed_and_deleted(ctl: Ctl) -> None:
    """B9."""
    assert ctl("window", "list").out == "no windows\n"
    made = ctl("window", "create", "office", *OFFICE)
    assert (made.code, "mon, tue, wed, thu, fri at 08:00 for 10 h 00 min (Europe/Berlin)" in made.out) == (0, True)
    changed = ctl("window", "change", "OFFICE", "--for", "9h", "--kind", "check", "--name", "day", "--json").json
    assert (changed["name"], changed["length_seconds"], changed["kinds"], changed["start"]) == (
        "day",
        32400,
        ["check"],
        "08:00",
    )
    once = ("--from", "2026-12-24T00:00:00Z", "--until", "2026-12-27T00:00:00Z", "--allowed")
    changed = ctl("window", "change", "day", *once, "--json").json
    assert (changed["type"], changed["starts_at"], "days" in changed) == ("allowed", "2026-12-24T00:00:00+00:00", False)
    assert "everything" in ctl("window", "list").out
    assert "from 2026-12-24 00:00 UTC until 2026-12-27 00:00 UTC" in ctl("window", "show", "day").out
    assert ctl("window", "delete", "day").code == 2
    assert ctl("window", "delete", "day", "--yes").code == 0
    assert not Window.objects.exists()
    assert ctl("window", "show", "day").code == 1


@pytest.mark.usefixtures("home")
def test_a_window_tells_what_it_does_before_it_is_saved_and_while_it_holds(ctl: Ctl) -> None:
    """B6, B10: the run that it moves, to when, and the objective that it breaks."""
    wide = ("--at", "08:30", "--for", "20h", "--days", "mon", "--time-zone", "Europe/Berlin", "--repository", "vault")
    told = ctl("window", "create", "mondays", *wide, "--dry-run")
    assert (told.code, told.out.count("open from")) == (0, 5), told.err
    assert "home: planned " in told.out
    assert "cannot keep its recovery point objective" in told.err
    assert not Window.objects.exists()
    made = ctl("window", "create", "mondays", *wide)
    assert "cannot keep its recovery point objective" in made.err
    assert "repository vault" in made.out
    again = ctl("window", "preview", "mondays", "--json").json
    assert again["moved"][0]["starts_at"] in [one["ends_at"] for one in again["openings"]]
    harmless = ctl("window", "change", "mondays", "--at", "10:00", "--for", "1h", "--dry-run")
    assert ("it moves no planned run" in harmless.out, harmless.err) == (True, "")
    assert Window.objects.get().length_seconds == 20 * 3600


def test_what_is_wrong_is_named_as_it_was_typed(ctl: Ctl) -> None:
    for words, begin in (
        (("--at", "25:00", "--for", "1h"), "error: --at: "),
        (("--at", "08:00"), "error: --for: "),
        (("--at", "08:00", "--for", "8d"), "error: --for: "),
        (("--at", "08:00", "--for", "1h", "--time-zone", "Mars"), "error: --time-zone: "),
        (("--at", "08:00", "--for", "1h", "--days", "someday"), "error: the days: "),
        (("--from", "yesterday", "--until", "2026-12-24T00:00:00Z"), "error: --from: "),
        (("--from", "2026-12-24T00:00:00Z"), "error: --until: "),
        (("--at", "08:00", "--for", "1h", "--kind", "restore"), "error: --kind: "),
        (("--allowed", "--blackout"), "error: --allowed and --blackout exclude each other"),
    ):
        refused = ctl("window", "create", "x", *words)
        assert (refused.code, refused.err.startswith(begin)) == (2, True), refused.err
    assert not Window.objects.exists()


@pytest.mark.usefixtures("home")
def test_a_run_ignores_windows_by_right_only(ctl: Ctl, monkeypatch: Any, plan: worker.Plan) -> None:
    """Execution.md, section 2: it waits with the window's name; with the right it starts."""
    ctl("window", "create", "always", "--at", "00:00", "--for", "7d")
    held = ctl("job", "run", "home", "--json").json
    assert "always" in json.dumps(ctl("run", "show", held["id"], "--json").json["held"])
    assert ctl("run", "cancel", held["id"]).code == 0
    _, token = token_create(name="small", scopes=["jobs.read", "jobs.write", "jobs.run", "runs.read"], now=clock.now())
    with monkeypatch.context() as other:
        other.setenv("SYNCOVA_TOKEN", token)
        other.delenv("SYNCOVA_TOKEN_FILE")
        refused = ctl("job", "run", "home", "--ignore-windows", "--json")
    assert refused.json["error"]["code"] == "PERMISSION_DENIED"
    done = ctl("job", "run", "home", "--ignore-windows", "--wait", "--json")
    assert (done.code, done.json["state"], done.json["ignore_windows"]) == (0, "succeeded", True)
    assert Run.objects.filter(ignore_windows=True).count() == 1


@pytest.mark.usefixtures("home")
def test_what_postpones_the_next_run_is_shown_with_its_instant(ctl: Ctl) -> None:
    """B9: in `job show`, `job list` and `status`; a window that leaves no instant says so."""
    assert "held" not in ctl("job", "show", "home").out
    ctl("window", "create", "mornings", "--at", "06:00", "--for", "6h", "--time-zone", "Europe/Berlin")
    job = ctl("job", "show", "home", "--json").json
    assert job["next_start_at"] > job["next_run_at"]
    for words in (("job", "show", "home"), ("job", "list"), ("status",)):
        assert f"held until {moment(job['next_start_at'])} by the blackout mornings" in ctl(*words).out, words
    ctl("window", "create", "always", "--at", "00:00", "--for", "7d")
    assert "no free instant within 31 days" in ctl("job", "show", "home").out
