"""The child's one run: picks the operation, and turns whatever ends it into the last event and an exit code.

The process edge: the only place of the engine that may catch everything.
"""

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from repositories.engine.errors import EngineError
from repositories.engine.process import opening, requests
from repositories.engine.process.channel import Channel
from repositories.engine.process.failures import error_info
from repositories.engine.process.protocol import ErrorInfo, Failed, Finished, Log
from repositories.engine.process.requests import Request

# By name: a child carries out one operation, and importing the others would take longer than opening a repository.
OPERATIONS = {
    "backup": ("backup_operation", "back_up_sources"),
    "restore": ("restore_operation", "restore_backup"),
    "check": ("check_operation", "check_repository"),
    "repair": ("repair_operation", "repair_repository"),
    "copy": ("copy_operation", "copy_repository"),
    "forget": ("forget_operation", "forget_backups"),
    "prune": ("prune_operation", "prune_repository"),
    "info": ("read_operations", "tell_info"),
    "list": ("read_operations", "tell_backups"),
    "browse": ("look_operation", "browse_directory"),
    "find": ("look_operation", "find_entries"),
    "content": ("content_operation", "write_content"),
}

GIVING_WAY = frozenset({"prune"})
"""Nobody waits for these: backups above all come first."""
_LAST = 19


def prepare(names: Sequence[str]) -> None:
    """Import the operation that is going to be asked for, if one is named: others can be asked for nevertheless."""
    for name in names:
        if name in OPERATIONS:
            _operation(name)


def tell_waits(channel: Channel) -> None:
    """Let the caller hear when a medium does not answer and is tried again."""
    opening.tell_waits(lambda text: channel.send(Log(level="info", message=text)))


def begin(request: Request) -> None:
    """Begin to open the request's repository; safe on any thread. What is wrong with the request is `run`'s to tell."""
    # Else the parent died before the kernel knew whom to watch.
    if request.v == requests.VERSION and request.parent_pid == os.getppid():
        opening.begin(request.repository)


def run(request: Request, channel: Channel) -> int:
    """Carry out `request` and send the last event; return the process's exit code."""
    try:
        if request.v != requests.VERSION:
            raise _unknown_version(request.v)
        if request.operation in GIVING_WAY:
            _give_way()
        opening.begin(request.repository)
        operation = _operation(request.operation)
        _collect_garbage()
        result = operation(request, channel)
        opening.note_states()
        told = opening.told_state()
    except EngineError as error:
        channel.send(Failed(error=error_info(error)))
        return error.exit_code
    except Exception as error:  # noqa: BLE001  (the process edge: the parent must hear of a defect too)
        sys.excepthook(type(error), error, error.__traceback__)
        channel.send(Failed(error=_defect(error)))
        return 1
    channel.send(Finished(result=result, seen=None if told is None else told.seen))
    return 0


def _collect_garbage() -> None:
    """Let the collector begin, with what comes from now on: what was imported is not looked through."""
    gc.freeze()
    gc.enable()


def _give_way() -> None:
    """Let whatever else this machine does come first; threads that are started from now on do, too."""
    with contextlib.suppress(OSError):
        os.nice(_LAST)


def _operation(name: str) -> Callable[[Request, Channel], dict[str, Any]]:
    module, function = OPERATIONS[name]
    operation: Callable[[Request, Channel], dict[str, Any]] = getattr(
        importlib.import_module(f"repositories.engine.process.{module}"), function
    )
    return operation


def _defect(error: Exception) -> ErrorInfo:
    return ErrorInfo(
        code="INTERNAL",
        message=f"the engine has a defect or met something unforeseen: {type(error).__name__}: {error}",
        hint="the traceback is in the log; please report it",
    )


def _unknown_version(version: int) -> EngineError:
    return EngineError(
        f"this engine speaks version {requests.VERSION} of its protocol, not {version}",
        hint="restart the worker or the agent after an update",
    )
