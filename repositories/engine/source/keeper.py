"""Stands between the engine and a command whose output it backs up: starts it, tells its end, ends it for certain.

A program of its own, run by its path with the standard library alone: the engine may be killed at any moment, and
what it has started must not live on. Its stdin is the tie: it begins with the command's environment, and when the
engine's end is closed (or the engine gone) the command's whole process group is ended. A full stop on it means that
all went well and nothing is to be ended.
It starts with every run of a command, so that it imports as little as it can.
Arguments: the number of the descriptor that it reports on, then the command. It reads no output of the command.
"""

import ctypes
import os
import select
import signal
import sys
import time

GRACE_SECONDS = 3.0
ENVIRONMENT_END = b"\0\0"
ALL_IS_WELL = b"."
NOT_STARTED, EXITED, KILLED = b"not-started", b"exited", b"killed"

_LOOK_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# Python ignores some of them, and what is ignored would stay ignored in the command.
_FOR_THE_COMMAND = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGCHLD,
)


def main(report: int, command: list[bytes]) -> None:
    """Start `command`, report its end, and stay until stdin says what to do with what is left of it."""
    os.set_inheritable(report, False)  # noqa: FBT003  (the library knows it by position alone)
    environment = _read_environment(0)
    # What the command leaves behind becomes ours: nobody else can be relied on to reap it.
    _ask_kernel(_PR_SET_CHILD_SUBREAPER, 1)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    leader, failure = _start(command, environment)
    if failure:
        _tell(report, NOT_STARTED, failure)
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _let_go_of_output()
    _watch(leader, report, wake)


def _read_environment(descriptor: int) -> dict[bytes, bytes]:
    data = b""
    while not data.endswith(ENVIRONMENT_END):
        block = os.read(descriptor, 65536)
        if not block:
            sys.exit(1)
        data += block
    pairs = (pair.partition(b"=") for pair in data[: -len(ENVIRONMENT_END)].split(b"\0") if pair)
    return {name: value for name, _, value in pairs}


def _start(command: list[bytes], environment: dict[bytes, bytes]) -> tuple[int, int]:
    """Return the command's process id and 0, or the number of the error that kept it from starting."""
    told, telling = os.pipe()
    leader = os.fork()
    if leader == 0:
        _become(command, environment, telling)
    os.close(telling)
    with open(told, "rb") as pipe:
        failure = int(pipe.read() or b"0")
    if failure:
        os.waitpid(leader, 0)
    return leader, failure


def _become(command: list[bytes], environment: dict[bytes, bytes], telling: int) -> None:
    """Turn this process into the command; never returns."""
    try:
        os.setpgid(0, 0)
        _ask_kernel(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        signal.set_wakeup_fd(-1)
        for number in _FOR_THE_COMMAND:
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(command[0], command, environment)  # noqa: S606  (without a shell, on purpose)
    except OSError as error:
        os.write(telling, str(error.errno).encode())
    finally:
        os._exit(127)


def _let_go_of_output() -> None:
    """Hold neither output of the command open: their ends must be seen."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)


def _watch(leader: int, report: int, wake: int) -> None:
    """Report the end of the command; end its group when stdin does, unless all is well."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(wake, select.POLLIN)
    told = False
    while True:
        if not told and (ended := _ending(leader)) is not None:
            told = True
            _tell(report, *ended)
        ready = [descriptor for descriptor, _ in poll.poll()]
        if wake in ready:
            os.read(wake, 4096)
            _reap_orphans(leader)
        if 0 in ready:
            if os.read(0, 1) != ALL_IS_WELL:
                _end(leader)
            return


def _reap_orphans(leader: int) -> None:
    """Reap what the command has left behind and has ended: a long command may leave very many."""
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None or ended.si_pid == leader:
            return
        os.waitpid(ended.si_pid, 0)


def _ending(leader: int) -> tuple[bytes, int] | None:
    """Return how the command ended; it is not reaped, so that its number stays its own."""
    ended = os.waitid(os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return (EXITED if ended.si_code == os.CLD_EXITED else KILLED), ended.si_status


def _end(leader: int) -> None:
    """Ask the whole group to end, give it the grace, and kill what is left."""
    for number in (signal.SIGTERM, signal.SIGCONT):
        _signal(leader, number)
    for _ in range(round(GRACE_SECONDS / _LOOK_SECONDS)):
        _reap()
        # Reaped, the leader's number still belongs to the group as long as anyone is in it.
        if not _signal(leader, 0):
            return
        time.sleep(_LOOK_SECONDS)
    _signal(leader, signal.SIGKILL)


def _reap() -> None:
    """Reap who has ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _ask_kernel(what: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def _signal(group: int, number: int) -> bool:
    """Return whether there was anyone in the group to be told."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # Someone in it has become another user; it is there.
        return True
    return True


def _tell(report: int, what: bytes, number: int) -> None:
    try:
        os.write(report, b"%s %d\n" % (what, number))
    except BrokenPipeError:
        # The engine is gone: stdin says so next.
        return


if __name__ == "__main__":
    main(int(sys.argv[1]), [os.fsencode(word) for word in sys.argv[2:]])
