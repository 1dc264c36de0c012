"""Refused logins are counted, and after too many the next are refused unseen: 429, Retry-After, one entry (7.8)."""

import datetime as dt
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from syncova_project import clock
from syncova_project.access import lockout
from syncova_project.access.models import AuditEntry, LoginAttempt
from tests import canaries
from tests.jobs.rivals import at_once

RIGHT, WRONG = canaries.login_password("right"), canaries.login_password("wrong")
LIMIT = lockout.LIMITS["both"]


@pytest.fixture
def alice() -> User:
    return User.objects.create_superuser("alice", password=RIGHT)


def log_in(name: str = "alice", password: str = WRONG, *, address: str = "192.0.2.1") -> Any:
    client = Client(raise_request_exception=False, REMOTE_ADDR=address)
    return client.post("/admin/login/", {"username": name, "password": password})


def locks() -> list[str]:
    return [entry.details["by"] for entry in AuditEntry.objects.filter(action="session.lock").order_by("id")]


@pytest.mark.django_db
def test_after_five_failures_even_the_right_password_waits(alice: User) -> None:
    assert [log_in().status_code for _ in range(LIMIT)] == [200] * LIMIT
    refused = log_in(password=RIGHT)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 15 * 60 + 1
    assert b"Too many logins failed. Try again in 15 minutes." in refused.content
    assert "Content-Security-Policy" in refused.headers
    for _ in range(3):
        log_in()
    assert locks() == ["both"]
    assert log_in(password=RIGHT, address="192.0.2.2").status_code == 302


@pytest.mark.django_db
def test_the_wait_ends_by_itself_and_by_hand(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(LIMIT + 1):
        log_in()
    call_command("unlock_logins")
    assert log_in(password=RIGHT).status_code == 302
    assert AuditEntry.objects.filter(action="session.unlock").count() == 1
    for _ in range(LIMIT + 1):
        log_in()
    later = clock.now() + lockout.WINDOW + dt.timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert log_in(password=RIGHT).status_code == 302


@pytest.mark.django_db
def test_a_right_password_begins_anew(alice: User) -> None:
    for _ in range(2):
        for _ in range(LIMIT - 1):
            log_in()
        assert log_in(password=RIGHT).status_code == 302
    assert locks() == []


@pytest.mark.django_db
def test_many_names_from_one_address_and_many_addresses_for_one_name(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lockout, "LIMITS", {"both": 3, "address": 4, "name": 8})
    for number in range(lockout.LIMITS["address"] + 1):
        last = log_in(f"name {number}")
    assert last.status_code == 429
    assert log_in(password=RIGHT).status_code == 429
    for number in range(lockout.LIMITS["name"] + 1):
        last = log_in(address=f"198.51.100.{number}")
    assert last.status_code == 429
    assert locks() == ["address", "name"]


@pytest.mark.django_db
def test_counts_keep_no_word_that_was_typed(alice: User) -> None:
    for _ in range(LIMIT + 2):
        log_in(WRONG)
    assert "CANARY" not in repr(list(LoginAttempt.objects.values_list()))
    assert "CANARY" not in repr(list(AuditEntry.objects.values_list()))
    assert LoginAttempt.objects.count() == 3


@pytest.mark.django_db
def test_what_is_over_is_forgotten(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        log_in(f"name {number}")
    later = clock.now() + lockout.WINDOW + dt.timedelta(seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    log_in("another")
    assert LoginAttempt.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_guesses_at_the_same_time_are_no_better_than_one_after_the_other() -> None:
    User.objects.create_superuser("alice", password=RIGHT)
    answers = at_once([lambda: log_in().status_code] * 12)
    assert sorted(answers) == [200] * LIMIT + [429] * (12 - LIMIT)
    assert locks() == ["both"]
