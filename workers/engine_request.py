"""The engine's requests, made from runs and repositories; pure but for this host's name, process and kept indexes.

Owns the translation alone. The password and the medium's credentials go nowhere but into the request's line on the
child's standard input.
"""

import os
import socket
from typing import Final

from django.conf import settings
from msgspec import structs

from jobs.executors import ExecutionRequest, ExecutionSource
from repositories.engine.process import requests
from repositories.opening import RepositoryAccess
from syncova_project import env
from syncova_project.instants import nanoseconds
from workers.kept_indexes import kept_directory

# What a program needs to reach a remote medium from behind a proxy; nothing else of the worker's environment.
_PASSED_ON: Final = ("HOME", "TZ", "TMPDIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


def backup_request(
    request: ExecutionRequest, access: RepositoryAccess, *, turn_seconds: float | None = None
) -> requests.Request:
    """Return the request that backs up all sources of a run in one opening of the repository (A4).

    With `turn_seconds` the engine asks before each source, and waits for an answer for so long at most.
    """
    options = requests.SourceOptions(accept_new_root=request.accept_new_root)
    return requests.Request(
        operation="backup",
        parent_pid=os.getpid(),
        repository=access_of(access),
        run=requests.RunReference(
            id=str(request.run_id),
            fence=request.fence,
            scheduled_for_ns=nanoseconds(request.scheduled_for),
            trigger=str(request.trigger),
        ),
        controller=controller_of(access, request.fence),
        host=socket.gethostname(),
        sources=tuple(_source(source, options) for source in request.sources),
        bandwidth_bytes_per_second=request.bandwidth_limit_bps,
        strict=request.strict,
        turn_seconds=turn_seconds,
        skip_paths=skipped_paths(access.location),
    )


def controller_of(access: RepositoryAccess, fence: int) -> requests.ControllerReference:
    """Return this control plane's mark for a repository, under a fence that was intended before."""
    # One row is one control plane's view of one repository, and survives a dump: its id names the controller.
    return requests.ControllerReference(id=str(access.id), epoch=access.epoch, fence_intended=fence)


def list_request(access: RepositoryAccess, fence: int | None = None) -> requests.Request:
    """Return the request that lists the backups; with a fence the control plane's mark is put first."""
    controller = None if fence is None else controller_of(access, fence)
    own = structs.replace(access_of(access), expected_id=access.expected_id)
    return requests.Request(operation="list", parent_pid=os.getpid(), repository=own, controller=controller)


def info_request(access: RepositoryAccess) -> requests.Request:
    """Return the request that only opens the repository and tells its id."""
    return requests.Request(operation="info", parent_pid=os.getpid(), repository=access_of(access))


def check_request(access: RepositoryAccess, *, read_data: bool) -> requests.Request:
    """Return the request that checks a repository."""
    order = requests.CheckOrder(read_data=read_data)
    return requests.Request(operation="check", parent_pid=os.getpid(), repository=access_of(access), check=order)


def engine_environment() -> dict[str, str]:
    """Return what the engine child sees beside its minimum."""
    found = {name: env.foreign(name) for name in _PASSED_ON}
    return {name: value for name, value in found.items() if value is not None}


def skipped_paths(location: str) -> tuple[bytes, ...]:
    """Return what no backup may walk into: the repository itself (a backup of its parent is legal) and our own data."""
    paths = [os.fsencode(settings.DATA_DIR)]
    if location.startswith("/"):
        paths.append(os.fsencode(location))
    return tuple(paths)


def access_of(access: RepositoryAccess) -> requests.RepositoryAccess:
    """Return what opens a repository in the engine's words."""
    # No expected id: a swapped directory is recorded and shown, and the run goes on (A10).
    return requests.RepositoryAccess(
        location=access.location,
        password=access.password.decode("utf-8"),
        remembered=requests.RememberedState(repository_id=access.expected_id or "", state=access.remembered),
        kept_directory=kept_directory(),
        credentials=dict(access.credentials),
    )


def _source(source: ExecutionSource, options: requests.SourceOptions) -> requests.SourceRequest:
    return requests.SourceRequest(
        key=str(source.task_run_id),
        name=source.name,
        type=source.type,
        path=source.path,
        excludes=source.excludes,
        options=options,
    )
