"""Starts one hook and outlives whoever wanted it: when that process is gone, even by SIGKILL, the hook ends too.

A program of its own, started by workers.hook_process in a session of its own. Stdin is a pipe that only its starter
holds open: its end is the starter's end. Imports nothing of Syncova's, since it must start at once. What it has to
tell goes to the file descriptor in its first argument, a line each: `errno N` where the program cannot be started, and
`exit N` (negative: the signal). Then the whole group of processes, itself with it, is killed: a hook's end is the end
of what it began.
"""

import contextlib
import os
import select
import signal
import sys
import time

# What a hook gets when it is asked to end; as long as workers.hook_process gives it.
GRACE_SECONDS = 3.0
_LOOK_SECONDS = 0.2
_ASKED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def main(told: int, argv: list[str]) -> None:
    """Run the program to its end, or to its starter's; never returns."""
    # Whatever the program leaves behind must not keep its starter waiting for what is told.
    os.set_inheritable(told, False)  # noqa: FBT003 - it takes no keyword
    for number in _ASKED:
        # The group is asked to end as a whole; a handler, unlike SIG_IGN, is not inherited by the program.
        signal.signal(number, lambda *_: None)
    child = os.fork()
    if child == 0:
        _become(told, argv)
    code = _wait(child)
    if code is None:
        os.killpg(0, signal.SIGTERM)
        for _ in range(round(GRACE_SECONDS / _LOOK_SECONDS)):
            if (code := _ended(child)) is not None:
                break
            time.sleep(_LOOK_SECONDS)
    if code is not None:
        _tell(told, f"exit {code}\n")
    os.killpg(0, signal.SIGKILL)


def _become(told: int, argv: list[str]) -> None:
    """Become the program; never returns."""
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number in _IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        os.execv(argv[0], argv)  # noqa: S606 - no shell is what is wanted
    except OSError as error:
        _tell(told, f"errno {error.errno}\n")
    finally:
        os._exit(127)


def _wait(child: int) -> int | None:
    """Return the exit code of `child`, None once nobody holds the other end of stdin any more."""
    poll = select.poll()
    # No events asked for: poll then reports only that the other end is gone, and never data.
    poll.register(0, 0)
    with contextlib.suppress(AttributeError, OSError):
        # Where there is none, the end of the program is seen a moment later.
        poll.register(os.pidfd_open(child), select.POLLIN)
    while (code := _ended(child)) is None:
        ready = poll.poll(_LOOK_SECONDS * 1000)
        if any(descriptor == 0 for descriptor, _ in ready):
            return _ended(child)
    return code


def _ended(child: int) -> int | None:
    found, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _tell(told: int, words: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(told, words.encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
