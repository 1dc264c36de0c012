"""Commands whose output is backed up: run as given, failed when they fail, never left behind (2.7)."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from repositories.engine.errors import CommandFailedError, OperationCancelledError
from repositories.engine.source import command as command_module
from repositories.engine.source.command import Command, CommandOutput
from tests.engine.process.children import group, wait_until

PATH = (b"PATH", os.fsencode(os.defpath))


def script(text: str, **fields: object) -> Command:
    fields.setdefault("environment", (PATH,))
    return Command((b"sh", b"-c", text.encode()), **fields)  # type: ignore[arg-type]


def nothing(*_: object) -> None:
    """Neither wait nor count."""


def read_all(
    command: Command, waiting: Callable[[], None] = nothing, taken: Callable[[int], None] = nothing
) -> tuple[bytes, list[str]]:
    """Return what a command wrote to both outputs; fails as the command does."""
    buffer = bytearray(1 << 20)
    found = bytearray()
    with CommandOutput(command, waiting, taken) as output:
        while count := output.readinto(memoryview(buffer)):
            found += buffer[:count]
        output.finish()
    return bytes(found), output.last_words


def failure_of(command: Command) -> str:
    with pytest.raises(CommandFailedError) as caught:
        read_all(command)
    assert caught.value.code == "COMMAND_FAILED"
    return caught.value.message


def process_of(path: Path) -> int:
    """Return the number that a command wrote to a file, once it is there."""
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


class Stop:
    """Cancels when told to."""

    def __init__(self, when: Callable[[], bool]) -> None:
        self._when = when

    def __call__(self, *_: object) -> None:
        if self._when():
            raise OperationCancelledError("enough")


@pytest.fixture(autouse=True)
def descriptors() -> Iterator[None]:
    """Whatever happens, nothing stays open."""
    before = sorted(os.listdir("/proc/self/fd"))
    yield
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_all_of_the_output_is_read() -> None:
    data, said = read_all(script("head -c 5000000 /dev/zero; printf end"))
    assert (len(data), data[-3:], said) == (5_000_003, b"end", [])


def test_words_reach_the_command_untouched() -> None:
    """No shell stands between: spaces, quotes, dollars, empty words and bytes that are no text."""
    words = (b"%s|", b"a b", b"", b"$HOME", b"'\"`id`", b"\xff\n", b"--json", b"-r", b"--")
    data, _ = read_all(Command((b"printf", *words), (PATH,)))
    assert data == b"".join(word + b"|" for word in words[1:])


def test_the_environment_is_exactly_the_given_one() -> None:
    given = ((b"PATH", b"/usr/bin:/bin"), (b"EMPTY", b""), (b"RAW", b"\xff=\n"))
    data, _ = read_all(Command((b"env", b"-0"), given))
    assert sorted(data.strip(b"\0").split(b"\0")) == [b"EMPTY=", b"PATH=/usr/bin:/bin", b"RAW=\xff=\n"]
    assert read_all(Command((b"/usr/bin/env",)))[0] == b""


def test_it_runs_where_it_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "dump").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "dump").chmod(0o700)
    data, _ = read_all(Command((b"./dump",), (PATH,), bytes(tmp_path)))
    assert data == bytes(tmp_path) + b"\n"


def test_nothing_of_the_engine_reaches_it(tmp_path: Path) -> None:
    """Stdin is empty, only three descriptors are open, its group is its own, signals are as a shell leaves them."""
    held = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(held, True)
    try:
        told, _ = read_all(
            script("wc -c; ls /proc/self/fd | wc -l; ps -o pgid= -p $$; echo $$; grep SigIgn /proc/self/status")
        )
    finally:
        os.close(held)
    empty, descriptors, process_group, itself, ignored = told.decode().split("\n")[:5]
    # `ls` has the directory itself open beside the three.
    assert (int(empty), int(descriptors)) == (0, 4)
    assert int(process_group) == int(itself)
    assert int(ignored.split()[1], 16) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("printf half; exit 7", "command sh ended with exit code 7"),
        ("exit 1", "command sh ended with exit code 1"),
        ("printf half; kill -9 $$", "command sh was ended by signal 9"),
        ("echo first >&2; echo 'no such table' >&2; exit 3", "exit code 3: first / no such table"),
        ("printf 'bad \\033[31m\\377name' >&2; exit 3", "exit code 3: bad \\x1b[31m\\xffname"),
        ("printf all; exec >&-; sleep 0.3; exit 5", "command sh ended with exit code 5"),
        ("false | cat; exit 9", "command sh ended with exit code 9"),
    ],
)
def test_the_failure_of_the_command_is_a_failure(text: str, said: str) -> None:
    assert said in failure_of(script(text))


def test_only_the_name_of_the_program_is_told() -> None:
    """Arguments may hold passwords."""
    message = failure_of(Command((b"/bin/sh", b"-c", b"exit 2", b"password=secret"), (PATH,)))
    assert message == "command sh ended with exit code 2"
    assert "secret" not in repr(Command((b"x",), ((b"PGPASSWORD", b"secret"),)))


@pytest.mark.parametrize(
    "impossible",
    [
        Command(()),
        Command((b"",)),
        Command((b"a\0",)),
        Command((b"a", b"\0")),
        Command((b"a",), ((b"", b"x"),)),
        Command((b"a",), ((b"A=", b"x"),)),
        Command((b"a",), ((b"A", b"x\0B=y"),)),
        Command((b"a",), (), b"/\0"),
    ],
)
def test_what_no_process_can_be_given(impossible: Command) -> None:
    """Least of all a variable that holds another one."""
    assert not impossible.can_be_started
    assert Command((b"a", b""), ((b"A", b""), (b"B", b"="))).can_be_started


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((b"no-such-program",), "cannot be started: No such file or directory"),
        ((b"/etc/passwd",), "cannot be started: Permission denied"),
        ((b"/",), "cannot be started: Permission denied"),
    ],
)
def test_a_command_that_cannot_be_started(words: tuple[bytes, ...], reason: str) -> None:
    assert reason in failure_of(Command(words, (PATH,)))


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    assert f"(in directory {tmp_path}/gone)" in failure_of(script("true", directory=bytes(tmp_path / "gone")))


def test_a_full_stderr_blocks_nobody() -> None:
    """More than any pipe holds, before, between and after the output; the end of it is kept."""
    noise = "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2;"
    data, said = read_all(script(f"{noise} printf one; {noise} printf two; {noise} echo last >&2"))
    assert data == b"onetwo"
    assert (said[-1], len(said[-2])) == ("last", 400)


def test_many_lines_are_kept_short() -> None:
    _, said = read_all(script("seq 1 5000 >&2"))
    assert said == [str(number) for number in range(4981, 5001)]


def test_a_closed_output_is_not_the_end() -> None:
    """What counts is how the command ends, however long that takes."""
    waited = []
    data, _ = read_all(script("printf all; exec >&- 2>&-; sleep 0.7"), lambda: waited.append(1))
    assert data == b"all"
    assert len(waited) >= 2


@pytest.mark.parametrize("text", ["printf x; sleep 600", "exec >&-; sleep 600", "cat /dev/zero"])
def test_a_cancelled_command_is_ended(tmp_path: Path, text: str) -> None:
    """With all that it has started."""
    known = tmp_path / "pid"
    stop = Stop(lambda: known.exists() and known.read_text().endswith("\n"))
    with pytest.raises(OperationCancelledError):
        read_all(script(f"echo $$ > {known}; {text}; true"), stop, stop)
    assert group(process_of(known)) == []


def test_a_command_may_clean_up_when_it_is_ended(tmp_path: Path) -> None:
    """TERM comes first, and the grace is the whole group's: a snapshot may have to be taken away."""
    known, cleaned = tmp_path / "pid", tmp_path / "cleaned"
    inner = f'trap "sleep 0.5; touch {cleaned}; exit" TERM; echo $$ > {known}; while :; do sleep 0.1; done'
    with CommandOutput(script(f"sh -c '{inner}' & wait"), nothing, nothing):
        process_of(known)
    assert cleaned.exists()


def test_a_command_that_does_not_want_to_end_is_killed(tmp_path: Path) -> None:
    known = tmp_path / "pid"
    text = f"trap '' TERM; echo $$ > {known}; while :; do sleep 1; done"
    with CommandOutput(script(text), nothing, nothing):
        leader = process_of(known)
    assert group(leader) == []


def test_what_a_command_leaves_behind_does_not_hold_up_its_success(tmp_path: Path) -> None:
    """A process that keeps only stderr open is not waited for, and not ended either."""
    known = tmp_path / "pid"
    data, _ = read_all(script(f"sleep 600 >/dev/null & echo $! > {known}; printf all"))
    assert data == b"all"
    os.kill(process_of(known), signal.SIGKILL)


def test_orphans_are_reaped_while_the_command_runs() -> None:
    """A command that runs for hours may leave as many as the system has numbers."""
    data, _ = read_all(
        script("for i in 1 2 3 4 5; do (true &); done; sleep 0.4; ps -o stat= --ppid $PPID | grep -c Z; true")
    )
    assert data == b"0\n"


def test_an_output_that_stays_open_after_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell whether it is whole: no backup, and the process that holds it is ended."""
    monkeypatch.setattr(command_module, "_QUIET_LOOKS", 2)
    known = tmp_path / "pid"
    message = failure_of(script(f"echo $$ > {known}; sleep 600 & printf all"))
    assert "a process that it left behind keeps its output open" in message
    assert group(process_of(known)) == []


def test_an_output_that_others_go_on_writing(tmp_path: Path) -> None:
    known = tmp_path / "pid"
    message = failure_of(script(f"echo $$ > {known}; yes & exit 0"))
    assert "a process that it left behind keeps its output open" in message
    assert group(process_of(known)) == []


def test_a_slow_heir_is_read_to_its_end() -> None:
    """What ends soon after the command is whole: a shell's last pipe may outlive it by a moment."""
    assert read_all(script("(sleep 0.5; printf late) & printf soon"))[0] == b"soonlate"


def test_the_command_ends_with_its_keeper(tmp_path: Path) -> None:
    known = tmp_path / "pid"

    def kill_keeper() -> None:
        if known.exists() and known.read_text():
            status = Path(f"/proc/{process_of(known)}/stat").read_text()
            os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)

    with pytest.raises(CommandFailedError, match="was lost"):
        read_all(script(f"echo $$ > {known}; exec sleep 600"), kill_keeper)
    wait_until(lambda: group(process_of(known)) == [])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_command_ends_with_whoever_reads_it(tmp_path: Path, number: int) -> None:
    """Also with all that it has started, and when the reader's whole group is killed."""
    known = tmp_path / "pid"
    program = (
        "import sys; from tests.engine.source.test_command import *\n"
        f"with CommandOutput(script('echo $$ > {known}; sleep 600 | sleep 601'), nothing, nothing) as output:\n"
        "    output.readinto(memoryview(bytearray(10)))\n"
    )
    reader = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    leader = process_of(known)
    wait_until(lambda: len(group(leader)) == 3)
    os.killpg(reader.pid, number)
    reader.wait()
    wait_until(lambda: group(leader) == [])
