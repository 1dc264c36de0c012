"""`python -m repositories.engine.process [OPERATION]`: the engine child. Reads one request, tells events, exits.

Owns the order of the first steps: ties to the parent, guardian, pipes; then the heavy imports, while the request is
waited for and the password is turned into a key. Without the name of an operation more is imported after the request.
"""

import faulthandler
import gc
import os
import signal
import sys

from repositories.engine.process import guard
from repositories.engine.ties import die_with_parent


def main() -> int:
    """Run the one request on stdin; return the exit code that the protocol promises."""
    faulthandler.enable()
    # What is imported stays: looking through it again and again took a twentieth of an unchanged backup.
    gc.disable()
    die_with_parent()
    guardian = guard.Guardian(0)
    try:
        return _serve()
    finally:
        guardian.stop()


def _serve() -> int:
    # Imported late: the guardian must be forked first and stay small.
    from repositories.engine.process import channel, protocol, runner

    pipes = channel.claim_pipes()
    signal.signal(signal.SIGTERM, lambda *_: pipes.cancel())
    signal.signal(signal.SIGINT, lambda *_: pipes.cancel())
    runner.tell_waits(pipes)
    pipes.start_reading(runner.begin)
    runner.prepare(sys.argv[1:])
    try:
        request = pipes.read_request()
    except protocol.MalformedLineError as error:
        detail = protocol.ErrorInfo(code="ENGINE_PROTOCOL", message=f"no request on stdin: {error}", exit_code=2)
        pipes.send(protocol.Failed(error=detail))
        return 2
    if os.getppid() != request.parent_pid:
        # The parent died before the kernel knew whom to watch.
        return 1
    return runner.run(request, pipes)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Everything is closed by now; a reader thread may still sit on stdin and must not hold up the end.
    os._exit(code)
