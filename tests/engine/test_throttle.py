"""The token bucket and how rates are written (C7)."""

import threading

import pytest

from repositories.engine.errors import ConfigurationError, OperationCancelledError
from repositories.engine.throttle import Throttle, parse_rate


class FakeTime:
    """A clock that only moves when someone sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.lock = threading.Lock()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.now += seconds


def bucket(rate: int, time: FakeTime) -> Throttle:
    return Throttle(rate, monotonic=time.monotonic, sleep=time.sleep)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("50MB", 50 * 2**20),
        ("50MB/s", 50 * 2**20),
        ("400Mbit", 50 * 2**20),
        ("400MBit/s", 50 * 2**20),
        ("1,5MB", 3 * 2**19),
        ("1.5MB", 3 * 2**19),
        (" 1.5 MiB/s ", 3 * 2**19),
        ("64kB", 65536),
        ("64K", 65536),
        ("1Gbit", 2**27),
        ("2TB", 2**41),
        ("8bit", 1),
        ("100", 100),
    ],
)
def test_rates_that_people_write_are_understood(text: str, rate: int) -> None:
    """C7: MB = 2^20 bytes, bit = 1/8 byte, comma and point both separate decimals."""
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "0MB", "0.0MB", "-1MB", "MB", "50 cows", "50Mb", "50iB", "1.2.3MB", "1e3", "nan", "inf", "1bit"),
        *("\u0665MB", "50MB/h", "50MB\n50MB", "9" * 400, "999999999999999TB", "\x1b[31m5MB", "50Mbit/s/s"),
    ],
)
def test_zero_and_garbage_are_refused(text: str) -> None:
    """C7: 0 is refused; so is everything that is not plainly a rate. The message repeats no escape code."""
    with pytest.raises(ConfigurationError) as caught:
        parse_rate(text)
    assert caught.value.message.isprintable()
    assert caught.value.hint


@pytest.mark.parametrize("rate", [0, -1])
def test_a_bucket_without_a_rate_is_refused(rate: int) -> None:
    with pytest.raises(ConfigurationError):
        bucket(rate, FakeTime())


def test_one_second_of_credit_is_free_and_no_more() -> None:
    """C7: the first second's worth passes at once, the rest at the rate."""
    time = FakeTime()
    throttle = bucket(1000, time)
    throttle.take(1000)
    assert time.now == 1000.0
    throttle.take(500)
    assert time.now == pytest.approx(1000.5)


def test_credit_does_not_pile_up_while_idle() -> None:
    time = FakeTime()
    throttle = bucket(1000, time)
    time.now += 3600
    throttle.take(1000)
    before = time.now
    throttle.take(1000)
    assert time.now - before == pytest.approx(1.0)


def test_a_transfer_larger_than_the_credit_is_paid_off_by_waiting() -> None:
    time = FakeTime()
    bucket(1000, time).take(11_000)
    assert time.now == pytest.approx(1010.0)


def test_many_threads_together_get_the_rate_once() -> None:
    """C7: one bucket per run. The debts of all threads add up, whoever sleeps."""
    time = FakeTime()
    throttle = bucket(1000, time)

    def transfer() -> None:
        for _ in range(50):
            throttle.take(100)

    threads = [threading.Thread(target=transfer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # 20,000 bytes, 1,000 of them free. Sleeps of four threads overlap on a real clock; here each moves it alone.
    assert time.now >= 1019.0 - 1e-6


def test_a_stop_ends_the_wait_early() -> None:
    """A cancel is seen within a second however low the limit is."""
    time = FakeTime()
    throttle = Throttle(1, monotonic=time.monotonic, sleep=time.sleep, stop=lambda: time.now > 1002.0)
    with pytest.raises(OperationCancelledError):
        throttle.take(10_000)
    assert time.now < 1003.0
