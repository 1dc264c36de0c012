"""Backups from the command line: listed, shown, browsed, searched; and logs that are followed (7.2, 7.4)."""

import json
import uuid
from typing import Any

import pytest

from jobs import run_log
from jobs.conclusion import conclude
from jobs.database_time import database_now
from jobs.executors import ExecutionResult
from jobs.models import Run
from jobs.run_log import LogLine
from repositories.lookups import LookupOutcome, lookup_claim, lookup_close
from repositories.models import Backup, Repository
from tests.api.builders import make_run, start
from tests.ctl.conftest import Ctl
from tests.repositories.builders import make_backup

pytestmark = pytest.mark.django_db(transaction=True)

ENTRY = {"type": "file", "mode": "0644", "uid": 0, "gid": 0, "size": 1234, "mtime_ns": 1_764_500_000_000_000_000}
OUTCOMES: list[LookupOutcome] = []
ASKED: list[dict[str, Any]] = []


def answers(lookup_id: uuid.UUID, group: str) -> None:
    """Answer a lookup with what the test has planned, as a worker that is rung."""
    row = lookup_claim(lookup_id, worker="alpha:1", now=database_now())
    if row is not None and OUTCOMES:
        ASKED.append(json.loads(row.question))
        lookup_close(row, OUTCOMES.pop(0), worker="alpha:1", now=database_now())


@pytest.fixture
def backup(ctl: Ctl, settings: Any) -> Backup:
    settings.SYNCOVA_LOOKUP, settings.SYNCOVA_LONG_ANSWERS = "tests.ctl.test_backups.answers", 1
    OUTCOMES.clear()
    ASKED.clear()
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    return make_backup(
        Repository.objects.get(), source_name="laptop:/home\x1b[31m", host="laptop", skipped=1, warnings=2
    )


def page(*paths: str, after: str | None = None, **more: Any) -> LookupOutcome:
    entries = [{**ENTRY, "path": path} for path in paths]
    return LookupOutcome(answer={"entries": entries, "next_base64": after, "warnings": [], "unread": 0, **more})


def test_backups_are_listed_and_shown(ctl: Ctl, backup: Backup) -> None:
    listed = ctl("backup", "list", "-r", "vault", "--state", "partial", "--since", "2026-11-01")
    assert listed.code == 0, listed.err
    assert str(backup.id) in listed.out
    assert "\x1b" not in listed.out
    assert ctl("backup", "list", "--until", "2026-11-01").out == "no backups\n"
    shown = ctl("backup", "show", str(backup.id))
    assert "1 skipped, 2 warnings" in shown.out
    assert backup.manifest_id in shown.out
    assert ctl("backup", "show", str(backup.id), "--json").json["id"] == str(backup.id)
    unknown = ctl("backup", "show", "latest")
    assert (unknown.code, "no id of a backup" in unknown.err) == (1, True)


def test_a_directory_is_listed_over_all_pages(ctl: Ctl, backup: Backup) -> None:
    OUTCOMES.extend((page("docs/a", after="YQ=="), page("docs/b", warnings=["an old copy"])))
    listed = ctl("backup", "ls", str(backup.id), "docs")
    assert listed.code == 0, listed.err
    assert [line.split()[-1] for line in listed.out.splitlines()] == ["docs/a", "docs/b"]
    assert "1,234" in listed.out
    assert "an old copy" in listed.err
    assert [(each["path_base64"], each.get("after_base64")) for each in ASKED] == [
        ("ZG9jcw==", None),
        ("ZG9jcw==", "YQ=="),
    ]
    OUTCOMES.append(page("a", "b", after="Yg=="))
    told = ctl("backup", "ls", str(backup.id), "--limit", "2", "--json").json
    assert ([each["path"] for each in told["entries"]], told["more"]) == (["a", "b"], True)


def test_finding_tells_what_could_not_be_searched(ctl: Ctl, backup: Backup) -> None:
    OUTCOMES.append(page("docs/a.odt", unread=7))
    found = ctl("backup", "find", str(backup.id), "*.odt", "-i")
    assert (found.code, "7 entries could not be searched" in found.err) == (13, True)
    assert (ASKED[0]["pattern"], ASKED[0]["ignore_case"]) == ("*.odt", True)
    OUTCOMES.append(LookupOutcome(code="WRONG_PASSWORD", message="No key slot opens.", hint="Register it again."))
    failed = ctl("backup", "find", str(backup.id), "*.ods")
    # As at the repository's own commands.
    assert (failed.code, "No key slot opens" in failed.err) == (12, True)


def test_a_log_is_followed_to_its_end(ctl: Ctl, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SYNCOVA_WAKE = "tests.ctl.worker.sleeps"
    run = make_run()
    fence = start(run)

    def goes_on(_seconds: float) -> None:
        """Write a line each time that the client waits, and end the run after the third."""
        count = Run.objects.get(id=run.id).log_bytes and len(list(run_log.read(run.id)))
        lines = [LogLine(database_now(), "info", f"line {count + 1}")]
        assert run_log.append(run.id, fence, lines, now=database_now())
        if count == 2:
            assert conclude(run.id, fence, ExecutionResult(), now=database_now())

    monkeypatch.setattr("jobs.ctl.patience.clock.sleep", goes_on)
    followed = ctl("run", "log", str(run.id), "--follow")
    assert followed.code == 0, followed.err
    assert [line.split("  ")[-1] for line in followed.out.splitlines()] == ["line 1", "line 2", "line 3"]
