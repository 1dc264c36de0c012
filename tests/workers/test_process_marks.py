"""Marks of processes: only a process that has certainly ended is called gone (A15). The processes are real."""

import os
import signal
import subprocess
import sys

import pytest

from syncova_project import clock
from workers import process_marks

_TELL = "from workers.process_marks import own_mark; print(own_mark(), flush=True); input()"


@pytest.fixture
def child():
    with subprocess.Popen(
        [sys.executable, "-c", _TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_a_live_process_is_never_gone_even_when_stopped(child):
    mark = child.stdout.readline().strip()
    assert mark.startswith(process_marks.own_place())
    assert not process_marks.is_gone(mark)
    child.send_signal(signal.SIGSTOP)
    assert not process_marks.is_gone(mark)
    assert not process_marks.is_gone(process_marks.own_mark())


def test_a_killed_process_is_gone_before_and_after_it_is_reaped(child):
    mark = child.stdout.readline().strip()
    child.kill()
    end = clock.monotonic() + 20
    while not process_marks.is_gone(mark) and clock.monotonic() < end:
        clock.sleep(0.01)
    assert process_marks.is_gone(mark)
    child.wait()
    assert process_marks.is_gone(mark)


def test_a_later_process_with_the_same_pid_does_not_stand_for_the_earlier(child):
    place = process_marks.own_place()
    assert process_marks.is_gone(f"{place}{os.getpid()} 1")


@pytest.mark.parametrize("mark", ["", "alpha", "alpha boot 1 x 7", "alpha boot 1 7 x", "alpha boot 1 -7 -7"])
def test_what_is_no_mark_proves_nothing(mark):
    assert not process_marks.is_gone(mark)


def test_a_process_of_another_user_is_judged_by_the_kernel(monkeypatch):
    """With a /proc that hides the others, a live process looks as one that is gone: it is not."""
    mark = process_marks.own_mark()
    monkeypatch.setattr(process_marks, "_fields", lambda pid: None)
    assert not process_marks.is_gone(mark)


def test_where_nothing_can_be_proved_no_mark_is_given(monkeypatch, tmp_path):
    monkeypatch.setattr(process_marks, "_BOOT", tmp_path / "missing")
    assert process_marks.own_place() == ""
    assert process_marks.own_mark() == ""
