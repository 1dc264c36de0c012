"""Limits by token and by address: 429 with Retry-After, counted in memory and never in the way (7.8)."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from syncova_project import clock
from syncova_project.access.throttling import BUCKETS, MOST_KEYS, Buckets
from syncova_project.access.tokens import make_token
from tests.api.client import ApiClient


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A clock that tests move: limits are about time, which passes when it likes."""
    moment = [1000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: moment[0])
    BUCKETS.forget()
    yield moment
    BUCKETS.forget()


def test_ten_seconds_worth_may_come_at_once_and_then_the_rate() -> None:
    buckets = Buckets()
    assert [buckets.take("a", 5, now=0.0) for _ in range(50)] == [0.0] * 50
    assert buckets.take("a", 5, now=0.0) == pytest.approx(0.2)
    assert buckets.take("b", 5, now=0.0) == 0.0
    assert buckets.take("a", 5, now=0.19) > 0
    assert buckets.take("a", 5, now=0.21) == 0.0
    assert buckets.take("a", 0, now=0.21) == 0.0


def test_what_was_refused_costs_nothing() -> None:
    buckets = Buckets()
    for _ in range(1000):
        buckets.take("a", 1, now=0.0)
    assert buckets.take("a", 1, now=1.0) == 0.0


def test_memory_is_bounded_and_threads_lose_no_count() -> None:
    buckets = Buckets()
    for number in range(MOST_KEYS + 50):
        buckets.take(str(number), 1, now=0.0)
    assert len(buckets._full_at) == MOST_KEYS
    taken: list[float] = []

    def work() -> None:
        taken.extend(buckets.take("shared", 10, now=0.0) for _ in range(40))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken.count(0.0) == 100


@pytest.mark.django_db
def test_a_token_that_asks_too_much_is_told_when_to_come_again(settings: Any, stopped_clock: list[float]) -> None:
    settings.SYNCOVA_TOKEN_RATE = 1
    busy, other = ApiClient("jobs.read"), ApiClient("jobs.read")
    assert [busy.get("jobs").status for _ in range(10)] == [200] * 10
    refused = busy.get("jobs")
    refused.refused(429, "THROTTLED")
    assert refused.headers["Retry-After"] == "2"
    assert other.get("jobs").status == 200
    stopped_clock[0] += 2
    assert busy.get("jobs").status == 200


@pytest.mark.django_db
def test_one_address_is_limited_whatever_it_shows(settings: Any, stopped_clock: list[float]) -> None:
    settings.SYNCOVA_ADDRESS_RATE = 40
    guesses = [ApiClient(token=make_token().text).get("jobs").status for _ in range(25)]
    assert guesses == [401] * guesses.index(429) + [429] * (25 - guesses.index(429))
    assert 15 <= guesses.index(429) <= 20
    ApiClient("jobs.read").get("jobs")
    stopped_clock[0] += 10
    assert ApiClient("jobs.read").get("jobs").status == 200
    assert [ApiClient(token="").get("jobs").status for _ in range(3)] == [401] * 3


@pytest.mark.django_db
def test_a_limit_asks_no_server(settings: Any, django_assert_num_queries: Any) -> None:
    """A stopped broker or database must not be asked before a flood is refused."""
    settings.SYNCOVA_ADDRESS_RATE = 1
    settings.SYNCOVA_BROKER_URL = "redis://127.0.0.1:1/0"
    client = ApiClient("jobs.read")
    while client.get("jobs").status != 429:
        pass
    with django_assert_num_queries(0):
        client.get("jobs").refused(429, "THROTTLED")
