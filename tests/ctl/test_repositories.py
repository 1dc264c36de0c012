"""Repositories as people read them: one that no run could open, and a password that is given anew."""

import uuid
from collections.abc import Callable

import pytest

from jobs.database_time import database_now
from repositories.control_plane import reindex_wanted
from repositories.models import Repository
from repositories.services import observe_repository_id
from repositories.troubles import repository_unopened
from tests.ctl import worker
from tests.ctl.conftest import Ctl
from tests.repositories.builders import random_hex

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def vault(ctl: Ctl) -> Repository:
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    return Repository.objects.get()


def test_a_repository_that_no_run_could_open_is_told(ctl: Ctl, vault: Repository) -> None:
    assert "could not be opened" not in ctl("status").out
    repository_unopened(
        repository_id=vault.id, code="REPOSITORY_NOT_FOUND", message="nothing is there", now=database_now()
    )
    for words in (["status"], ["repository", "list"]):
        told = ctl(*words).out
        assert "could not be opened since 2" in told
        assert "UTC: nothing is there (REPOSITORY_NOT_FOUND)" in told


@pytest.mark.usefixtures("vault")
def test_the_password_of_an_opened_repository_is_replaced_by_registering_it_again(ctl: Ctl, plan: worker.Plan) -> None:
    plan.opening = worker.has_wrong_password
    assert ctl("repository", "register", "vault", "/srv/vault").code == 12
    plan.opening = worker.opens
    again = ctl("repository", "register", "vault", "/srv/vault", "--json")
    assert (again.code, again.json["state"]) == (0, "active")
    assert Repository.objects.count() == 1


def swapped_at_the_last_run(vault: Repository) -> str:
    """Let a run have met another repository; return its id."""
    other = random_hex()
    observe_repository_id(repository_id=vault.id, observed_hex=other, run_id=vault.id, now=database_now())
    return other


def test_unfreezing_looks_first_and_tells_of_now(ctl: Ctl, vault: Repository) -> None:
    """A10: the right medium is back, and what a run saw days ago is neither told as present nor adopted."""
    other = swapped_at_the_last_run(vault)
    done = ctl("repository", "unfreeze", "vault", "--adopt")
    assert (done.code, "takes backups  yes" in done.out) == (0, True)
    assert "nothing to adopt: its medium is" in done.err
    assert other not in done.out + done.err
    vault.refresh_from_db()
    assert vault.repository_id == vault.observed_repository_id != other


def test_a_medium_that_is_still_another_one_is_told_or_adopted(ctl: Ctl, plan: worker.Plan, vault: Repository) -> None:
    swapped_at_the_last_run(vault)
    plan.opening = worker.finds_another
    done = ctl("repository", "unfreeze", "vault")
    row = Repository.objects.get()
    assert f"its medium is {row.observed_repository_id} now, adopted was {row.repository_id}" in done.err
    assert ctl("repository", "unfreeze", "vault", "--adopt").code == 0
    row.refresh_from_db()
    assert row.repository_id == row.observed_repository_id != vault.repository_id


def test_unfreezing_what_only_indexing_ends_is_refused(ctl: Ctl, vault: Repository) -> None:
    reindex_wanted(repository_id=vault.id, reason="restored from a dump", run_id=None, now=database_now())
    done = ctl("repository", "unfreeze", "vault")
    assert (done.code, "stays frozen until it was indexed again" in done.err) == (1, True)
    assert "./syncova manage reindex_repository vault" in done.err


@pytest.mark.parametrize("opening", [None, worker.finds_nothing])
def test_what_nobody_could_look_at_is_not_adopted(
    ctl: Ctl, plan: worker.Plan, vault: Repository, opening: Callable[[uuid.UUID], None] | None
) -> None:
    """What was there when it was last opened is told with its time."""
    other = swapped_at_the_last_run(vault)
    plan.opening = opening
    refused = ctl("repository", "unfreeze", "vault", "--adopt", "--wait", "1", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "REPOSITORY_NOT_LOOKED_AT")
    assert "takes no backups" in ctl("status").out
    done = ctl("repository", "unfreeze", "vault", "--wait", "1")
    assert done.code == 0
    assert "when it was last opened (20" in done.err
    assert f"it was {other}" in done.err


@pytest.mark.usefixtures("vault")
def test_nobody_is_told_to_make_a_repository_where_one_was(ctl: Ctl, plan: worker.Plan) -> None:
    """A file system that is not mounted leaves an empty directory: a new repository there would hide the old one."""
    plan.opening = worker.finds_nothing
    again = ctl("repository", "register", "vault", "/srv/vault")
    assert again.code == 10
    assert "is its medium mounted?" in again.err
    assert "create" not in again.err
    assert "repo create" in ctl("repository", "register", "new", "/srv/new").err


def test_the_journal_is_told_with_who_cleared_what(ctl: Ctl, vault: Repository) -> None:
    """G1."""
    assert "vault was never frozen" in ctl("repository", "journal", "vault").out
    assert ctl("repository", "freeze", "vault", "--reason", "noises").code == 0
    assert ctl("repository", "unfreeze", "vault").code == 0
    ctl("repository", "freeze", "vault", "--reason", "more noises")
    told = ctl("repository", "journal", "VAULT").out.splitlines()
    assert told[1].split()[-3:] == ["open", "more", "noises"]
    assert "by token:ctl" in told[2]
    assert told[2].endswith("noises")
    assert len(ctl("repository", "journal", str(vault.id), "--json", "--limit", "1").json["freezes"]) == 1


def test_limits_change_what_is_named_alone(ctl: Ctl, vault: Repository) -> None:
    """C2, G3."""
    for words, runs, serial in (
        (["--runs", "3"], 3, False),
        (["--serial"], 3, True),
        (["--runs", "2"], 2, True),
        (["--no-serial"], 2, False),
    ):
        shown = ctl("repository", "limit", "vault", *words, "--json").json
        assert (shown["max_concurrent_runs"], shown["serial_gate"]) == (runs, serial)
    assert ctl("repository", "limit", "vault").code == 2
    assert ctl("repository", "limit", "vault", "--serial", "--no-serial").code == 2
    vault.refresh_from_db()
    assert (vault.max_concurrent_runs, vault.serial_gate) == (2, False)
