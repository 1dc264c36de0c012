"""What control planes leave in a repository: their epoch and highest fence (execution.md, control-plane epoch).

Owns reading and writing those records. Each writing is a new object, so that two workers of one control plane cannot
put a lower fence over a higher one; the writer then removes its own control plane's lower ones.
"""

import contextlib

import msgspec

from repositories.engine.errors import ConfigurationError, IntegrityError, ObjectMissingError, RepositoryError
from repositories.engine.format.collection import ControllerRecord
from repositories.engine.format.kinds import ObjectKind, object_id_of
from repositories.engine.format.records import decode, encode
from repositories.engine.objects.store import ObjectStore
from repositories.engine.repository import Repository

_CONTROLLER_ID_LENGTH = 16


class Controller(msgspec.Struct, frozen=True):
    """A control plane as the repository knows it; `id` is its UUID's 16 bytes."""

    id: bytes
    epoch: int
    highest_fence: int


def read_controllers(repository: Repository) -> list[Controller]:
    """Return each control plane with its highest epoch and fence, in the order of ids."""
    highest: dict[bytes, Controller] = {}
    for _, controller in _records(repository.store):
        known = highest.get(controller.id)
        if known is None or _rank(controller) > _rank(known):
            highest[controller.id] = controller
    return [highest[each] for each in sorted(highest)]


def put_controller(repository: Repository, controller_id: bytes, epoch: int, highest_fence: int) -> None:
    """Record a control plane's epoch and fence; lower ones of the same control plane are removed if that is allowed."""
    if len(controller_id) != _CONTROLLER_ID_LENGTH:
        raise ConfigurationError("a controller's id has 16 bytes", hint="pass the bytes of its UUID")
    store = repository.store
    mine = Controller(controller_id, epoch, highest_fence)
    record = ControllerRecord(controller_id, epoch, highest_fence, repository.clock.now_ns())
    group = controller_id.hex()
    store.put(ObjectKind.CONTROLLER, encode(record), group=group)
    for object_id, other in _records(store):
        if other.id == controller_id and _rank(other) < _rank(mine):
            with contextlib.suppress(RepositoryError):
                store.remove(ObjectKind.CONTROLLER, object_id, group)


def _records(store: ObjectStore) -> list[tuple[bytes, Controller]]:
    found: list[tuple[bytes, Controller]] = []
    for name in store.names(ObjectKind.CONTROLLER):
        object_id = object_id_of(name)
        if object_id is not None:
            # Another worker of the same control plane may remove a lower record meanwhile; a torn one never counted.
            with contextlib.suppress(ObjectMissingError, IntegrityError):
                payload = store.read(ObjectKind.CONTROLLER, object_id, name.split("/")[1])
                record = decode(payload, ControllerRecord)
                found.append((object_id, Controller(record.controller_id, record.epoch, record.highest_fence)))
    return found


def _rank(controller: Controller) -> tuple[int, int]:
    return controller.epoch, controller.highest_fence
