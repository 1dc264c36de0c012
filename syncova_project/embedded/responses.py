"""Whether the processes of a running stack do their work: each server is asked, within a short time.

Owns the questions and the sentences. A process that only lives (stopped by a signal, hung on a disk) is told apart
from one that answers. Changes nothing.
"""

import contextlib
import json
import socket
import struct
import urllib.error
from typing import Any, Final

from syncova_project.embedded import first_start, keepsakes, members, postgres, processes, valkey
from syncova_project.embedded.layout import POSTGRES_SOCKET, Layout
from syncova_project.embedded.ownership import OwnerRecord

_SERVER_SECONDS: Final = 3.0
# Web asks its servers with limits of its own before it answers.
_WEB_SECONDS: Final = 12.0
# A pass is due every ten seconds; a long one, or a worker that starts again, is nothing to speak of.
_LATE_SECONDS: Final = 60.0
# "Do you speak TLS?": the one request that needs no password. The answer is one byte, whatever it is.
_TLS_REQUEST: Final = struct.pack("!ii", 8, 80877103)
_SILENT: Final = f"does not answer within {_SERVER_SECONDS:.0f} s"


def silent(layout: Layout, record: OwnerRecord) -> dict[str, str]:
    """Return what is wrong with each living process, by name; those that do their work are left out."""
    found = {}
    for member in record.members:
        if member.pid and processes.is_stopped(member.identity):
            found[member.name] = f"stopped by a signal: kill -CONT {member.pid} lets it go on"
    names = {member.name for member in record.members if member.pid} - set(found)
    if postgres.NAME in names and not postgres_answers(layout):
        found[postgres.NAME] = _SILENT
    if valkey.NAME in names and not _valkey_answers(layout):
        found[valkey.NAME] = _SILENT
    if members.WEB in names:
        found |= _web_and_scheduler(record.url)
    return found


def postgres_answers(layout: Layout) -> bool:
    """Tell whether the server takes a connection and speaks; needs no password."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_SERVER_SECONDS)
        client.connect(str(layout.sockets / POSTGRES_SOCKET))
        client.sendall(_TLS_REQUEST)
        return bool(client.recv(1))
    return False


def _valkey_answers(layout: Layout) -> bool:
    password = keepsakes.read(layout.secrets / valkey.NAME)
    return password is not None and valkey.answers(valkey.socket_path(layout), password, _SERVER_SECONDS)


def _web_and_scheduler(url: str) -> dict[str, str]:
    told = _readiness(url)
    if told is None:
        return {members.WEB: f"does not answer within {_WEB_SECONDS:.0f} s"}
    failed = [name for name, state in told.get("checks", {}).items() if state != "ok"]
    if failed:
        return {members.WEB: f"cannot reach: {', '.join(failed)}"}
    age = told.get("scheduler_age_seconds")
    if isinstance(age, int | float) and age > _LATE_SECONDS:
        return {members.CONTROL: f"the scheduler's last pass was {age:.0f} s ago"}
    return {}


def _readiness(url: str) -> dict[str, Any] | None:
    try:
        with first_start.opened(f"{url}/health/ready", _WEB_SECONDS) as answer:
            content = json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with contextlib.suppress(ValueError, OSError):
            content = json.loads(error.read())
            return content if isinstance(content, dict) else {}
        return {}
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else {}
