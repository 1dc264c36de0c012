"""The processes of the stack beside its servers: web, beat, the control worker and the work worker.

Owns their argv, users and environments; argv holds no secret. Starting and watching them is the stack's.
"""

from dataclasses import dataclass
from pathlib import Path

from syncova_project import env
from syncova_project.embedded import keepsakes, processes
from syncova_project.embedded.accounts import Account
from syncova_project.embedded.binding import Binding
from syncova_project.embedded.installation import child_variables
from syncova_project.embedded.layout import Layout
from syncova_project.embedded.python_copy import Interpreter, interpreter_for, own_interpreter

WEB, BEAT, CONTROL, WORK = "web", "beat", "control", "work"
_CELERY = ("-m", "celery", "-A", "syncova_project")
_QUIET = ("--without-gossip", "--without-mingle")
_CONTROL_PROCESSES = "2"
# Seconds; web ends before the stack's own patience does.
_WEB_GRACE, _WEB_TIMEOUT = "20", "60"
# Of each worker; with those that are just leaving, below the usual limit of 1024 descriptors.
_WEB_CONNECTIONS = "400"


@dataclass(frozen=True, slots=True)
class Place:
    """What every member needs to know: where, as whom, and with which settings."""

    layout: Layout
    account: Account
    environment: env.Environment
    binding: Binding
    listener: int
    url: str


def commands(place: Place) -> list[processes.Command]:
    """Return the members in the order of their start."""
    service = interpreter_for(place.account, place.layout.programs)
    return [
        _member(WEB, place, service, _web_arguments(place), place.account),
        _member(CONTROL, place, service, _worker_arguments("control", "control", _CONTROL_PROCESSES), place.account),
        _member(WORK, place, own_interpreter(), _work_arguments(place), None),
        _member(BEAT, place, service, (*_CELERY, "beat", "--pidfile="), place.account),
    ]


def _member(
    name: str, place: Place, interpreter: Interpreter, arguments: tuple[str, ...], account: Account | None
) -> processes.Command:
    variables = child_variables(place.environment, place.layout, account) | interpreter.variables
    if "SYNCOVA_PUBLIC_URL" not in variables and "SYNCOVA_PUBLIC_URL_FILE" not in variables:
        variables["SYNCOVA_PUBLIC_URL"] = place.url
    return processes.Command(
        name=name,
        argv=(*interpreter.argv, *arguments),
        environment=variables,
        directory=place.layout.scratch if account is not None and account.switched else place.layout.root,
        log=place.layout.log(name),
        account=account,
        inherited_descriptors=(place.listener,) if name == WEB else (),
    )


def _web_arguments(place: Place) -> tuple[str, ...]:
    arguments = ["-m", "gunicorn", "syncova_project.wsgi:application", "--bind", f"fd://{place.listener}"]
    arguments += ["--workers", str(place.environment.integer("SYNCOVA_WEB_WORKERS"))]
    arguments += ["--threads", str(place.environment.integer("SYNCOVA_WEB_THREADS"))]
    arguments += ["--worker-class", "syncova_project.web.worker.WebWorker", "--worker-connections", _WEB_CONNECTIONS]
    arguments += ["--graceful-timeout", _WEB_GRACE, "--timeout", _WEB_TIMEOUT, "--no-control-socket"]
    arguments += ["--worker-tmp-dir", str(place.layout.scratch), "--log-level", "warning"]
    if place.binding.certificate is not None and place.binding.key is not None:
        for option, path in (("--certfile", place.binding.certificate), ("--keyfile", place.binding.key)):
            arguments += [option, str(_readable(path, place))]
    return tuple(arguments)


def _work_arguments(place: Place) -> tuple[str, ...]:
    group = place.environment.word("SYNCOVA_WORKER_GROUP").lower()
    return _worker_arguments("work", f"work.{group},lookup.{group}", None)


def _worker_arguments(name: str, queues: str, count: str | None) -> tuple[str, ...]:
    number = () if count is None else ("--concurrency", count)
    return (*_CELERY, "worker", "--queues", queues, "--hostname", f"{name}@%h", *number, *_QUIET)


def _readable(path: Path, place: Place) -> Path:
    """Return a copy that the service user may read: a key often belongs to root alone, and stays so."""
    if not place.account.switched:
        return path.resolve()
    copy = place.layout.secrets / f"tls_{path.name}"
    keepsakes.write(copy, path.read_text(encoding="ascii"), reader=place.account)
    return copy
