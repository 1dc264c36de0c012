"""The embedded Valkey: configuration, start, stop. Unix socket only, a password, nothing kept on disk.

It is transport alone: losing all of it loses no run, so it writes no snapshot and no log of changes.
"""

import signal
import socket
from pathlib import Path

from syncova_project import clock
from syncova_project.embedded import keepsakes, processes
from syncova_project.embedded.accounts import Account
from syncova_project.embedded.layout import VALKEY_SOCKET, Layout
from syncova_project.embedded.postgres import write_private
from syncova_project.embedded.problems import ServerStartError

NAME = "valkey"
_START_SECONDS = 20.0
_CONFIGURATION = """\
# Written by `up` at every start.
port 0
unixsocket {socket}
unixsocketperm 700
requirepass {password}
dir {directory}
daemonize no
save ""
appendonly no
maxmemory-policy noeviction
enable-debug-command no
enable-module-command no
"""


def socket_path(layout: Layout) -> Path:
    """Return the path of the server's socket."""
    return layout.sockets / VALKEY_SOCKET


def keep_password(directory: Path) -> str:
    """Return the server's password, made on the first call."""
    return keepsakes.keep(directory, "valkey")


def prepare(layout: Layout, account: Account, password: str) -> None:
    """Write the configuration (0600, the account's) and remove the socket that a crash left."""
    socket_path(layout).unlink(missing_ok=True)
    content = _CONFIGURATION.format(
        socket=_quoted(socket_path(layout)), directory=_quoted(layout.valkey), password=password
    )
    write_private(layout.valkey / "valkey.conf", content, account)


def command(layout: Layout, account: Account, program: Path) -> processes.Command:
    """Return how the server is started; the password stands in its configuration only."""
    return processes.Command(
        name=NAME,
        argv=(str(program), str(layout.valkey / "valkey.conf")),
        environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        directory=layout.valkey,
        log=layout.log(NAME),
        account=account,
    )


def wait_ready(layout: Layout, password: str, identity: processes.Identity) -> None:
    """Wait until the server answers PING; raises ServerStartError when it ends or stays silent."""
    end = clock.monotonic() + _START_SECONDS
    while not answers(socket_path(layout), password):
        if not processes.is_alive(identity) or clock.monotonic() > end:
            said = processes.last_line(layout.log(NAME))
            raise ServerStartError(f"Valkey did not start: {said}", hint=f"Its log is {layout.log(NAME)}.")
        clock.sleep(0.05)


def answers(path: Path, password: str, seconds: float = 2.0) -> bool:
    """Tell whether the server takes the password and answers PING within the time."""
    try:
        return ask(path, password, "PING", seconds) == "+PONG"
    except OSError:
        return False


def ask(path: Path, password: str, request: str, seconds: float = 5.0) -> str:
    """Send one request without arguments and return the first line of its reply; raises OSError."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(seconds)
        client.connect(str(path))
        client.sendall(f"AUTH {password}\r\n{request}\r\n".encode())
        reply = b""
        while reply.count(b"\r\n") < 2:
            received = client.recv(4096)
            if not received:
                raise ConnectionError("the server closed the connection")
            reply += received
    return reply.split(b"\r\n")[1].decode("utf-8", "replace")


def stop(identity: processes.Identity, grace: float = 3.0) -> None:
    """End the server, also one that is stopped by a signal; kills it after `grace` seconds."""
    processes.stop([identity], signal.SIGTERM, grace)


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
