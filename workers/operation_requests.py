"""The engine's requests of runs that have no sources: prune, forget, restore and copy, made from their parameters.

Owns the translation alone; pure but for the names of this host and process. The parameters of such a run are the
engine's own order as JSON, so that nothing is said twice. Deletions name the repository that they expect: in another
one that lies in its place nothing is deleted.
"""

import os
import socket
from typing import Any

from django.conf import settings
from msgspec import structs

from jobs.executors import ExecutionRequest
from repositories.engine.process import requests
from repositories.opening import RepositoryAccess
from syncova_project.instants import nanoseconds
from workers.engine_request import access_of, controller_of, skipped_paths


def prune_request(request: ExecutionRequest, access: RepositoryAccess, order: requests.PruneOrder) -> requests.Request:
    """Return the request that prunes the run's repository; the engine asks for the run's lease before it deletes."""
    return _request("prune", request, _own(access), prune=order, **_fenced(request, access))


def forget_request(
    request: ExecutionRequest, access: RepositoryAccess, order: requests.ForgetOrder
) -> requests.Request:
    """Return the request that deletes backups; the engine asks for the run's lease before it does."""
    return _request("forget", request, _own(access), forget=order, **_fenced(request, access))


def restore_request(
    request: ExecutionRequest, access: RepositoryAccess, order: requests.RestoreOrder
) -> requests.Request:
    """Return the request that restores into a directory, or in place within what this machine may back up.

    Of a deletion nothing is done that no plan has shown: without the plan's moment nothing is deleted.
    """
    bounded = structs.replace(
        order,
        dry_run=is_dry(request),
        delete=order.delete and (is_dry(request) or order.delete_before_ns is not None),
        in_place_roots=tuple(map(os.fsencode, settings.SYNCOVA_SOURCE_ROOTS)),
    )
    skipped = skipped_paths(access.location)
    return _request("restore", request, access_of(access), restore=bounded, skip_paths=skipped)


def copy_request(request: ExecutionRequest, origin: RepositoryAccess, target: RepositoryAccess) -> requests.Request:
    """Return the request that copies backups of `origin` into `target`, the run's repository."""
    wanted = request.parameters
    order = requests.CopyOrder(to=_own(target), backups=tuple(wanted.get("backups", ())), source=wanted.get("source"))
    return _request("copy", request, access_of(origin), copy=order)


def is_dry(request: ExecutionRequest) -> bool:
    """Tell whether a run was asked for its plan alone."""
    return request.parameters.get("dry_run") is True


def _fenced(request: ExecutionRequest, access: RepositoryAccess) -> dict[str, Any]:
    """Return what a deletion carries: this control plane's mark, and the run whose lease is to be confirmed."""
    if is_dry(request):
        return {}
    run = requests.RunReference(
        id=str(request.run_id),
        fence=request.fence,
        scheduled_for_ns=nanoseconds(request.scheduled_for),
        trigger=str(request.trigger),
    )
    return {"controller": controller_of(access, request.fence), "run": run}


def _own(access: RepositoryAccess) -> requests.RepositoryAccess:
    return structs.replace(access_of(access), expected_id=access.expected_id)


def _request(
    operation: requests.Operation, request: ExecutionRequest, access: requests.RepositoryAccess, **more: Any
) -> requests.Request:
    return requests.Request(
        operation=operation,
        parent_pid=os.getpid(),
        repository=access,
        host=socket.gethostname(),
        dry_run=is_dry(request),
        **more,
    )
