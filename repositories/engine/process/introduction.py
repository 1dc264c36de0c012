"""The first step of every operation: open the repository, and tell the parent what stands there.

Owns the `opened` event and the control plane's record in the repository, put when it is opened for writing.
"""

import uuid

from repositories.engine.controllers import Controller, put_controller, read_controllers
from repositories.engine.display import show_text
from repositories.engine.errors import ConfigurationError, InventoryLostError, SecurityError
from repositories.engine.process import opening
from repositories.engine.process.channel import Channel
from repositories.engine.process.opening import open_for
from repositories.engine.process.protocol import ControllerInfo, Log, Opened
from repositories.engine.process.requests import ControllerReference, Request
from repositories.engine.process.what_is_left import look_past_sweeps
from repositories.engine.repository import Repository


def introduce(request: Request, channel: Channel, *, writes: bool = False) -> Repository:
    """Open the repository and tell that it is open.

    Who only reads is warned of an earlier state; an operation that `writes` is refused for it, in the same words.
    """
    repository, before = _open(request, channel, writes=writes)
    _tell(request, channel, repository, before)
    return repository


def introduce_reader(request: Request, channel: Channel) -> Repository:
    """Do what `introduce` does, also where the newest inventory is lost: what the newest keys have sealed is read then.

    What that leaves out is warned of. Nothing may be written, and nothing is compared with what was seen before or
    remembered. A lost sweep is looked past, which is warned of, too.
    """
    repository = _introduce_what_is_left(request, channel)
    look_past_sweeps(repository)
    return repository


def _introduce_what_is_left(request: Request, channel: Channel) -> Repository:
    try:
        return introduce(request, channel)
    except InventoryLostError as error:
        repository = opening.open_what_is_left(request.repository, error)
        repository.warn = lambda message: channel.send(Log(level="warning", message=message))
        opening.warn_of_what_is_left(repository, error)
        _tell(request, channel, repository, [])
        return repository


def introduce_writer(request: Request, channel: Channel) -> Repository:
    """Open the repository, record the request's control plane in it, and tell what stood there before."""
    repository, before = _open(request, channel, writes=True)
    if request.controller is not None and repository.refuse_writing is None:
        _record(repository, request.controller, before)
    _tell(request, channel, repository, before)
    return repository


def refuse_another(request: Request, repository: Repository) -> None:
    """Raise SecurityError where this is not the repository that the request expects: a stranger's is not deleted in."""
    expected = request.repository.expected_id
    if expected is not None and expected != repository.id:
        raise SecurityError(
            f"the repository is {repository.id}, not {show_text(expected)}: nothing was deleted",
            hint="see whether the directory was swapped; if it is meant, adopt it first",
        )


def uuid_of(text: str, what: str) -> uuid.UUID:
    """Return the UUID that the request gives as `what`."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ConfigurationError(f"{show_text(text)} is no {what}", hint="these ids are UUIDs") from None


def _open(request: Request, channel: Channel, *, writes: bool) -> tuple[Repository, list[Controller]]:
    """Open the repository, compare it with what was seen of it, and return it with its control planes."""
    repository = open_for(request.repository)
    repository.warn = lambda message: channel.send(Log(level="warning", message=message))
    _, before = repository.store.both(
        lambda: opening.watch_states(request.repository, repository, writes=writes),
        lambda: read_controllers(repository),
    )
    return repository, before


def _record(repository: Repository, mine: ControllerReference, before: list[Controller]) -> None:
    identity = uuid_of(mine.id, "controller id").bytes
    known = [(each.epoch, each.highest_fence) for each in before if each.id == identity]
    # A lower one must not be put: the parent learns from `opened` that its database is an older dump.
    if all(each < (mine.epoch, mine.fence_intended) for each in known):
        put_controller(repository, identity, mine.epoch, mine.fence_intended)


def _tell(request: Request, channel: Channel, repository: Repository, before: list[Controller]) -> None:
    expected = request.repository.expected_id
    if expected is not None and expected != repository.id:
        message = f"the repository is {repository.id}, not {show_text(expected)}: was the directory swapped?"
        channel.send(Log(level="warning", message=message))
    told = opening.told_state()
    mine = None if request.controller is None else uuid_of(request.controller.id, "controller id").bytes
    channel.send(
        Opened(
            repository_id=repository.id,
            features=tuple(sorted({*repository.config.read_features, *repository.config.write_features})),
            highest_fence=max((each.highest_fence for each in before if each.id == mine), default=0),
            controllers=tuple(
                ControllerInfo(id=str(uuid.UUID(bytes=each.id)), epoch=each.epoch, highest_fence=each.highest_fence)
                for each in before
            ),
            seen=None if told is None else told.seen,
            earlier_state="" if told is None else told.reason,
        )
    )
