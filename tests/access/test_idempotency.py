"""One answer per key, also with rivals at the same time (E5)."""

import datetime as dt
import threading
from typing import Any

import pytest
from django.db import connection, transaction

from syncova_project.access import idempotency
from syncova_project.access.idempotency import (
    IdempotencyInProgressError,
    IdempotencyKeyReusedError,
    KeptAnswer,
    KeyedRequest,
    answer_once,
)
from syncova_project.access.models import IdempotencyKey
from syncova_project.errors import ValidationFailedError

NOW = dt.datetime(2026, 11, 30, 2, 0, tzinfo=dt.UTC)


def request(**fields: Any) -> KeyedRequest:
    values = {"principal": "alice", "key": "k1", "method": "POST", "path": "/api/v1/jobs", "body": b"{}"}
    return KeyedRequest(**(values | fields))


class Creator:
    """Counts how often something was really made."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> tuple[int, Any]:
        self.made += 1
        return 201, {"number": self.made}


@pytest.mark.django_db
def test_the_second_request_gets_the_first_answer() -> None:
    create = Creator()
    first = answer_once(request=request(), create=create, now=NOW)
    second = answer_once(request=request(), create=create, now=NOW)
    assert first == KeptAnswer(201, {"number": 1}, replayed=False)
    assert second == KeptAnswer(201, {"number": 1}, replayed=True)
    assert create.made == 1


@pytest.mark.django_db
@pytest.mark.parametrize("change", [{"body": b"{ }"}, {"path": "/api/v1/jobs/2/run"}, {"method": "PUT"}])
def test_the_key_of_another_request_is_refused(change: dict[str, Any]) -> None:
    answer_once(request=request(), create=Creator(), now=NOW)
    with pytest.raises(IdempotencyKeyReusedError):
        answer_once(request=request(**change), create=Creator(), now=NOW)


@pytest.mark.django_db
def test_keys_of_two_principals_are_two_keys() -> None:
    create = Creator()
    answer_once(request=request(), create=create, now=NOW)
    answer_once(request=request(principal="bob"), create=create, now=NOW)
    assert create.made == 2


@pytest.mark.django_db
def test_a_failed_creation_leaves_no_key() -> None:
    def fail() -> tuple[int, Any]:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        answer_once(request=request(), create=fail, now=NOW)
    assert not IdempotencyKey.objects.exists()
    assert answer_once(request=request(), create=Creator(), now=NOW).body == {"number": 1}


@pytest.mark.django_db
def test_a_key_is_free_again_after_a_day() -> None:
    create = Creator()
    answer_once(request=request(), create=create, now=NOW)
    later = answer_once(request=request(body=b"other"), create=create, now=NOW + dt.timedelta(hours=24, seconds=1))
    assert later.replayed is False
    assert create.made == 2


@pytest.mark.django_db
def test_keys_of_yesterday_are_forgotten() -> None:
    for number in range(25):
        answer_once(request=request(key=f"k{number}"), create=Creator(), now=NOW)
    tomorrow = NOW + dt.timedelta(hours=24, seconds=1)
    for key, left in (("new 1", 6), ("new 2", 2), ("new 3", 3)):
        answer_once(request=request(key=key), create=Creator(), now=tomorrow)
        assert IdempotencyKey.objects.count() == left


@pytest.mark.django_db
def test_the_lock_limit_ends_with_the_claim() -> None:
    def limit() -> tuple[int, Any]:
        with connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            return 200, cursor.fetchone()[0]

    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        before = cursor.fetchone()[0]
    assert answer_once(request=request(), create=limit, now=NOW).body == before


@pytest.mark.parametrize("key", ["", "k" * 256, "a\nb", "schlüssel"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(ValidationFailedError):
        answer_once(request=request(key=key), create=Creator(), now=NOW)


@pytest.mark.django_db(transaction=True)
def test_a_rival_waits_and_reads_the_answer() -> None:
    create, answers = Creator(), []
    inside, go_on = threading.Event(), threading.Event()

    def slowly() -> tuple[int, Any]:
        inside.set()
        assert go_on.wait(30)
        return create()

    def work(creator: Any) -> None:
        try:
            answers.append(answer_once(request=request(), create=creator, now=NOW))
        finally:
            connection.close()

    first = threading.Thread(target=work, args=(slowly,))
    first.start()
    assert inside.wait(30)
    second = threading.Thread(target=work, args=(create,))
    second.start()
    go_on.set()
    first.join(30)
    second.join(30)
    assert sorted(answer.replayed for answer in answers) == [False, True]
    assert create.made == 1


@pytest.mark.django_db(transaction=True)
def test_a_rival_that_waited_too_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "RIVAL_WAITS", "50ms")
    refused: list[bool] = []

    def rival() -> None:
        try:
            answer_once(request=request(), create=Creator(), now=NOW)
        except IdempotencyInProgressError:
            refused.append(True)
        finally:
            connection.close()

    def create() -> tuple[int, Any]:
        thread = threading.Thread(target=rival)
        thread.start()
        thread.join(30)
        return 201, {}

    with transaction.atomic():
        answer_once(request=request(), create=create, now=NOW)
    assert refused == [True]


@pytest.mark.django_db
def test_a_key_that_ended_in_this_very_moment_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row was younger than a day to this server, and forgotten by another whose clock is a moment ahead."""
    monkeypatch.setattr(idempotency, "_claim", lambda *_: None)
    with pytest.raises(IdempotencyInProgressError):
        answer_once(request=request(), create=Creator(), now=NOW)
