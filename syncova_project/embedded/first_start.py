"""The steps between the servers and the members: tables, user `admin`, the token of `ctl`, and web's first answer.

Owns DATA/ctl.json and DATA/secrets/admin_password. What needs Django runs in a child (`manage prepare_installation`).
"""

import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPResponse

from syncova_project import clock, env
from syncova_project.embedded import keepsakes, members, processes
from syncova_project.embedded.installation import child_variables
from syncova_project.embedded.layout import Layout
from syncova_project.embedded.problems import RESTORING, StackError
from syncova_project.embedded.python_copy import own_interpreter

ADMIN_PASSWORD, CTL_TOKEN = "admin_password", "ctl_token"
_WEB_START_SECONDS = 60.0
_LOG = "prepare"


def prepare_installation(layout: Layout, environment: env.Environment, url: str) -> None:
    """Bring the tables up to date, make what the first start makes, and write DATA/ctl.json; raises StackError."""
    keepsakes.keep(layout.secrets, ADMIN_PASSWORD)
    interpreter = own_interpreter()
    command = processes.Command(
        name=_LOG,
        argv=(*interpreter.argv, "-m", "django", "prepare_installation", "--secrets", str(layout.secrets)),
        environment=child_variables(environment, layout, None, migrating=True) | interpreter.variables,
        directory=layout.root,
        log=layout.log(_LOG),
    )
    child = processes.spawn(command)
    try:
        code = child.wait()
    except BaseException:
        child.terminate()
        child.wait(10)
        raise
    if code != 0:
        raise StackError(
            f"The database could not be prepared: {_reason(processes.last_line(command.log))}",
            hint=f"The log is {command.log}. {RESTORING}",
        )
    content = {"url": url, "token_file": str(layout.secrets / CTL_TOKEN)}
    keepsakes.write(layout.root / "ctl.json", json.dumps(content, indent=1))


def wait_for_web(layout: Layout, url: str, meanwhile: Callable[[], None]) -> None:
    """Return when web answers; `meanwhile` is called between the tries. Raises StackError after a minute."""
    end = clock.monotonic() + _WEB_START_SECONDS
    while not answers(url):
        meanwhile()
        if clock.monotonic() > end:
            log = layout.log(members.WEB)
            raise StackError(f"web does not answer on {url}: {processes.last_line(log)}", hint=f"Its log is {log}.")
        clock.sleep(0.1)


def _reason(line: str) -> str:
    """Return a traceback's last line without the name of its class, which helps nobody who reads it."""
    return re.sub(r"^[A-Za-z_][\w.]*(Error|Exception): ", "", line)


def answers(url: str, seconds: float = 2.0) -> bool:
    """Tell whether web answers its own probe on this machine."""
    try:
        with opened(f"{url}/health/live", seconds) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.HTTPError):
        return False


def opened(url: str, seconds: float) -> HTTPResponse:
    """Open an address of web on this machine, its certificate not judged; raises OSError (HTTPError is one)."""
    context = ssl._create_unverified_context() if url.startswith("https:") else None  # noqa: S323 - own socket
    # Web answers to its public name and to this one; the address it is bound to may be neither.
    request = urllib.request.Request(url, headers={"Host": "localhost"})  # noqa: S310 - own address
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=seconds, context=context)  # noqa: S310
    return answer
