"""Progress: lines off a terminal, JSON lines when asked for, a bar on a terminal that reads no markup."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from repositories.console.failures import CommandError
from repositories.console.progress_view import PlainView, choose_view, figures
from repositories.console.terminal import Terminal
from repositories.engine.process.protocol import Event, Progress, SourceStarted

ROOT = Path(__file__).parents[2]
EVENT = Progress(phase="reading", source="0", files=1234, bytes_read=2**20, bytes_stored=2**10, current="a[/b].txt")


def test_json_lines_have_the_engines_own_shape(capfd: pytest.CaptureFixture[str]) -> None:
    view = choose_view("json", Terminal(), lambda: 0.0)
    events: list[Event] = [SourceStarted(source="0"), EVENT]
    for event in events:
        view.show(event)
    view.close()
    out, err = capfd.readouterr()
    assert out == ""
    lines = [json.loads(line) for line in err.splitlines()]
    assert [line["event"] for line in lines] == ["source_started", "progress"]
    assert lines[1]["current"] == "a[/b].txt"


def test_lines_are_rare_off_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    view = choose_view("auto", Terminal(), lambda: now[0])
    assert isinstance(view, PlainView)
    for second in range(25):
        now[0] = float(second)
        view.show(EVENT)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "1,234 files, 1.00 MiB read, 1.00 KiB stored" in lines[0]


def test_what_a_restore_has_done_is_written_not_read() -> None:
    assert figures(Progress(phase="restoring", files=1, bytes_read=2**20)) == "1 file, 1.00 MiB written"


@pytest.mark.parametrize(("progress", "quiet"), [("none", False), ("auto", True)])
def test_silence_when_asked_for(progress: str, *, quiet: bool, capfd: pytest.CaptureFixture[str]) -> None:
    view = choose_view(progress, Terminal(quiet=quiet), iter(range(0, 1000, 100)).__next__)
    for _ in range(5):
        view.show(EVENT)
    view.close()
    assert capfd.readouterr().err == ""


def test_another_word_is_refused() -> None:
    with pytest.raises(CommandError):
        choose_view("loud", Terminal(), lambda: 0.0)


def test_the_bar_shows_names_as_they_are() -> None:
    """1.22: neither markup nor emoji codes of a name are read."""
    code = """
import time
from repositories.console.progress_view import choose_view
from repositories.console.terminal import Terminal
from repositories.engine.process.protocol import (Progress)
view = choose_view("auto", Terminal(), time.monotonic)
view.show(Progress(phase="reading", current="a[/b][red]:smiley:.txt"))
view.close()
"""
    screen, stderr = os.openpty()
    environment = {"TERM": "xterm", "COLUMNS": "200", "LANG": "C.UTF-8"}
    subprocess.run([sys.executable, "-c", code], stderr=stderr, cwd=ROOT, env=environment, check=True)
    os.close(stderr)
    shown = os.read(screen, 65536)
    os.close(screen)
    assert b"a[/b][red]:smiley:.txt" in shown
