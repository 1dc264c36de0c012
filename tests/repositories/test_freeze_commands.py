"""Freezing and clearing from a shell where the database is, with no server and no token (G1, G5)."""

import io

import pytest
from django.core.management import CommandError, call_command

from repositories.models import Repository
from repositories.selectors import accepts_backups, repository_get
from syncova_project.access.models import AuditEntry
from tests.repositories.builders import NOW, make_repository, random_hex

pytestmark = pytest.mark.django_db


def say(command: str, *words: str) -> str:
    out = io.StringIO()
    call_command(command, *words, stdout=out, stderr=out)
    return out.getvalue()


def test_freezing_by_name_and_clearing_by_id() -> None:
    repository = make_repository(name="Vault")
    assert say("freeze_repository", "vault", "--reason", "noises") == "Vault is frozen\n"
    assert say("freeze_repository", "vault", "--reason", "noises") == "Vault was frozen for that already\n"
    assert accepts_backups(repository_get(repository.id))[0] is False
    (line,) = say("freeze_journal", "vault", "--open").splitlines()
    assert line.endswith(": noises [open]")
    assert say("unfreeze_repository", str(repository.id)) == "Vault: 1 cleared\n"
    assert say("unfreeze_repository", "vault") == "Vault was not frozen\n"
    assert say("freeze_journal", "--open") == ""
    assert "cleared " in say("freeze_journal")
    actors = set(AuditEntry.objects.values_list("actor", flat=True))
    assert {actor.partition(":")[0] for actor in actors} == {"command"}


def test_a_medium_that_is_still_another_one_is_told() -> None:
    make_repository(name="vault", observed_repository_id=random_hex(), observed_at=NOW)
    assert "the next run freezes it again" in say("unfreeze_repository", "vault")
    with pytest.raises(CommandError, match="Look first"):
        say("unfreeze_repository", "vault", "--adopt")


@pytest.mark.parametrize("command", ["freeze_repository", "unfreeze_repository", "freeze_journal"])
def test_an_unknown_repository_is_told_with_those_there_are(command: str) -> None:
    make_repository(name="vault")
    words = ["--reason", "x"] if command == "freeze_repository" else []
    with pytest.raises(CommandError, match=r"There is no repository attic\. Registered: vault"):
        say(command, "attic", *words)


def test_a_freeze_without_a_reason_is_refused() -> None:
    make_repository(name="vault")
    with pytest.raises(CommandError):
        say("freeze_repository", "vault", "--reason", " ")
    assert not Repository.objects.get().freezes.exists()
