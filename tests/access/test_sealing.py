"""Seals over the audit trail: one chain of what has committed, and any change of it is told with its row (7.10)."""

import datetime as dt
import io
import logging
import threading
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from syncova_project.access.models import AuditEntry, AuditSeal, AuditSealMark, UnsealedEntry
from syncova_project.access.sealing import newest_seal, seal_entries, seal_text
from syncova_project.access.services import audit_record
from syncova_project.access.verifying import verify_trail
from tests.jobs.rivals import at_once
from tests.refusals import refused_by

NOW = dt.datetime(2026, 11, 30, 2, 0, tzinfo=dt.UTC)
DETAILS = {"name": "nächtlich\x85", "numbers": [1, 1.5, 2**60], "nested": {"b": None, "a": True}}


def record(subject: str = "1", **fields: Any) -> AuditEntry:
    values: dict[str, Any] = {"actor": "alice", "action": "job.pause", "subject_type": "job", "now": NOW}
    return audit_record(subject_id=subject, details=DETAILS, **(values | fields))


def trail(length: int = 4) -> list[AuditEntry]:
    entries = [record(str(number)) for number in range(length)]
    assert seal_entries(now=NOW) == length
    return entries


def past_the_triggers(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, values)
        cursor.execute("SET LOCAL session_replication_role = origin")


@pytest.mark.django_db
def test_each_entry_is_sealed_once_and_the_chain_is_whole() -> None:
    entries = trail()
    assert seal_entries(now=NOW) == 0
    record("later")
    assert seal_entries(now=NOW) == 1
    seals = list(AuditSeal.objects.all())
    assert [seal.position for seal in seals] == [1, 2, 3, 4, 5]
    assert [seal.entry_id for seal in seals][:4] == [entry.pk for entry in entries]
    assert bytes(seals[0].previous) == bytes(32)
    verdict = verify_trail({})
    assert (verdict.seals, verdict.waiting, verdict.problems) == (5, 0, [])
    newest = newest_seal()
    assert newest is not None
    assert verdict.newest == seal_text(newest)


@pytest.mark.django_db
def test_what_waits_for_its_seal_is_no_finding() -> None:
    trail()
    record("new")
    verdict = verify_trail({})
    assert (verdict.seals, verdict.waiting, verdict.problems) == (4, 1, [])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE audit_entries SET actor = 'bob' WHERE id = %s", "audit entry {entry} (seal 2) is not what was sealed"),
        ("UPDATE audit_entries SET at = at + interval '1 us' WHERE id = %s", "audit entry {entry} (seal 2) is not"),
        ("UPDATE audit_entries SET details = '{{}}' WHERE id = %s", "audit entry {entry} (seal 2) is not"),
        ("UPDATE audit_entries SET address = '::1' WHERE id = %s", "audit entry {entry} (seal 2) is not"),
        ("DELETE FROM audit_entries WHERE id = %s", "audit entry {entry} (seal 2) is gone"),
        ("DELETE FROM audit_seals WHERE entry_id = %s", "seal 2 is missing"),
        ("UPDATE audit_seals SET digest = sha256('x') WHERE entry_id = %s", "seal 3 does not follow from seal 2"),
    ],
)
def test_what_was_done_past_the_triggers_is_told(statement: str, told: str) -> None:
    entry = trail()[1]
    past_the_triggers(statement.replace("{{}}", "{}"), entry.pk)
    assert any(problem.startswith(told.format(entry=entry.pk)) for problem in verify_trail({}).problems)


@pytest.mark.django_db
def test_what_slipped_in_or_vanished_unsealed_is_told() -> None:
    trail()
    hidden, vanished = record("hidden"), record("vanished")
    past_the_triggers("DELETE FROM audit_unsealed_entries WHERE entry_id = %s", hidden.pk)
    past_the_triggers("DELETE FROM audit_entries WHERE id = %s", vanished.pk)
    assert seal_entries(now=NOW) == 0
    assert verify_trail({}).problems == [
        f"audit entry {hidden.pk} has no seal and does not wait for one",
        f"audit entry {vanished.pk} is gone: it was removed before it was sealed",
    ]


@pytest.mark.django_db
def test_a_trail_that_was_written_anew_or_cut_off_is_not_the_told_one() -> None:
    trail()
    assert verify_trail({3: bytes(32)}).problems == [
        "seal 3 is not the one that was told: the trail up to there was written anew"
    ]
    past_the_triggers("DELETE FROM audit_seals WHERE position > 2")
    past_the_triggers("DELETE FROM audit_entries WHERE id NOT IN (SELECT entry_id FROM audit_seals)")
    assert verify_trail({}).problems == ["seal 4 was told and is not there: the trail ends with seal 2"]
    past_the_triggers("DELETE FROM audit_seal_marks")
    assert verify_trail({}).problems == []
    assert verify_trail({4: bytes(32)}).problems == ["seal 4 was told and is not there: the trail ends with seal 2"]


@pytest.mark.django_db
def test_the_log_is_told_the_newest_seal_once_a_day(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    seal_entries(now=NOW)
    trail()
    newest = newest_seal()
    assert newest is not None
    for hours in (1, 23, 25):
        seal_entries(now=NOW + dt.timedelta(hours=hours))
    told = [one.getMessage() for one in caplog.records if one.name == "syncova_project.access.sealing"]
    assert len(told) == 2
    assert all(seal_text(newest) in line for line in told)
    assert AuditSealMark.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize("table", ["audit_seals", "audit_seal_marks"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET position = 9", "DELETE FROM {}", "TRUNCATE {}"])
def test_seals_are_never_changed(table: str, statement: str) -> None:
    trail()
    with refused_by(f"{table}_is_append_only"), connection.cursor() as cursor:
        cursor.execute(statement.format(table))


@pytest.mark.django_db
def test_the_command_says_what_is_wrong_at_which_row_and_exits_with_13() -> None:
    entry = trail()[2]
    newest = newest_seal()
    assert newest is not None
    output = io.StringIO()
    call_command("verify_audit", "--seal", seal_text(newest), stdout=output)
    assert output.getvalue().splitlines()[-1] == "the audit trail is whole"
    past_the_triggers("UPDATE audit_entries SET action = 'job.run' WHERE id = %s", entry.pk)
    with pytest.raises(CommandError) as refused:
        call_command("verify_audit", stdout=output)
    assert refused.value.returncode == 13
    assert f"audit entry {entry.pk} (seal 3) is not what was sealed: it was changed" in output.getvalue()
    with pytest.raises(CommandError, match="is no seal"):
        call_command("verify_audit", "--seal", "4", stdout=output)


@pytest.mark.django_db(transaction=True)
def test_what_commits_late_is_sealed_late_and_nobody_waits() -> None:
    """Entries get their numbers before they commit: an earlier number may come after a later one was sealed."""
    written, go_on = threading.Event(), threading.Event()

    def slowly() -> None:
        try:
            with transaction.atomic():
                record("early")
                written.set()
                assert go_on.wait(30)
        finally:
            connection.close()

    thread = threading.Thread(target=slowly)
    thread.start()
    assert written.wait(30)
    late = record("late")
    assert seal_entries(now=NOW) == 1
    go_on.set()
    thread.join(30)
    assert seal_entries(now=NOW) == 1
    first, second = AuditSeal.objects.all()
    assert first.entry_id == late.pk > second.entry_id
    assert verify_trail({}).problems == []


@pytest.mark.django_db(transaction=True)
def test_many_sealers_at_once_make_one_chain() -> None:
    for number in range(40):
        record(str(number))
    sealed = at_once([lambda: sum(seal_entries(now=NOW) for _ in range(3))] * 5)
    assert sum(sealed) == 40
    assert verify_trail({}).problems == []
    assert not UnsealedEntry.objects.exists()
