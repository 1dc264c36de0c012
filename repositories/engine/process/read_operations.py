"""The operations that only read: `info` and `list`."""

from typing import Any

from repositories.engine.manifest.backups import list_backups
from repositories.engine.process.channel import Channel
from repositories.engine.process.describe import backups_document, repository_fields
from repositories.engine.process.introduction import introduce, introduce_writer
from repositories.engine.process.label_fields import said_now
from repositories.engine.process.requests import Request


def tell_info(request: Request, channel: Channel) -> dict[str, Any]:
    """Open the repository and say what it is."""
    return repository_fields(introduce(request, channel))


def tell_backups(request: Request, channel: Channel) -> dict[str, Any]:
    """List the backups, oldest first; a control plane that takes the repository over puts its mark before that."""
    repository = introduce(request, channel) if request.controller is None else introduce_writer(request, channel)
    if request.controller is not None:
        repository.require_writable()
    backups = list_backups(repository)
    damaged, hurt = repository.damaged_manifests(), repository.hurt_manifests()
    return backups_document(backups, damaged, hurt, said_now(repository))
