"""The lines that parent and child exchange: one request, then commands (stdin) and events (stdout).

Owns the shape of every line but the request (`requests`), and the JSON codec; both sides import it. Unknown fields
are ignored, fields are only ever added. Must not start processes, touch files or know what an operation does.
Paths are bytes; on the wire they are base64 (fields named `…_base64`), and only shown text stands elsewhere.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from repositories.engine.errors import ConfigurationError
from repositories.engine.high_water import HighWater
from repositories.engine.process.requests import Request


class ErrorInfo(Struct, frozen=True, kw_only=True):
    """An engine error as data; the codes are those of repositories.engine.errors."""

    code: str
    message: str
    hint: str = ""
    failure_class: str = "unknown"
    exit_code: int = 1


class ProblemInfo(Struct, frozen=True, kw_only=True):
    """One problem of a backup; `path_base64` only where the shown path is not the exact name."""

    severity: str
    code: str
    path: str
    message: str = ""
    path_base64: str | None = None


class SourceFigures(Struct, frozen=True, kw_only=True):
    """What one committed backup holds; bytes and nanoseconds. `note_counts` parts `notes` by their kind."""

    backup_id: str
    manifest_id: str
    chain: str
    mode: str
    parent_id: str | None = None
    files: int = 0
    directories: int = 0
    links: int = 0
    others: int = 0
    logical_bytes: int = 0
    bytes_read: int = 0
    bytes_stored: int = 0
    new_chunks: int = 0
    skipped: int = 0
    warnings: int = 0
    notes: int = 0
    note_counts: dict[str, int] = {}
    problems: tuple[ProblemInfo, ...] = ()
    started_ns: int = 0
    finished_ns: int = 0
    sequence: int = 0


class RuleFigures(Struct, frozen=True, kw_only=True):
    """How many objects an exclude rule leaves out; `number` is its place in the request, from 1 on."""

    number: int
    rule: str
    count: int


class ForecastFigures(Struct, frozen=True, kw_only=True):
    """What a backup would do with a source (a dry run); bytes and nanoseconds.

    `gone` counts what the parent has and the backup would not have; null where that cannot be known.
    """

    parent_id: str | None = None
    new_files: int = 0
    changed_files: int = 0
    unchanged_files: int = 0
    reread_files: int = 0
    directories: int = 0
    links: int = 0
    others: int = 0
    logical_bytes: int = 0
    bytes_to_read: int = 0
    gone: int | None = None
    rules: tuple[RuleFigures, ...] = ()
    idle_rules: int = 0
    skipped: int = 0
    warnings: int = 0
    notes: int = 0
    note_counts: dict[str, int] = {}
    problems: tuple[ProblemInfo, ...] = ()
    started_ns: int = 0
    finished_ns: int = 0


class ControllerInfo(Struct, frozen=True, kw_only=True):
    """A control plane that has written to this repository, as it stood when it was opened."""

    id: str
    epoch: int
    highest_fence: int


class _Event(Struct, frozen=True, kw_only=True, tag_field="event"):
    """Base of all events."""


class Opened(_Event, frozen=True, kw_only=True, tag="opened"):
    """The repository is open; `highest_fence` is what this controller had stored before (0 = nothing).

    Where the request told what is remembered: `seen` is what is there now, and is to be added; or `earlier_state` says
    why this is an earlier one, and nothing is written.
    """

    repository_id: str
    features: tuple[str, ...] = ()
    highest_fence: int = 0
    controllers: tuple[ControllerInfo, ...] = ()
    seen: HighWater | None = None
    earlier_state: str = ""


class SourceStarted(_Event, frozen=True, kw_only=True, tag="source_started"):
    """Reading of this source begins."""

    source: str


class Progress(_Event, frozen=True, kw_only=True, tag="progress"):
    """At most two a second; figures are of this source (of the whole operation when `source` is null)."""

    phase: str
    source: str | None = None
    files: int = 0
    bytes_read: int = 0
    bytes_stored: int = 0
    current: str = ""


class ConfirmWanted(_Event, frozen=True, kw_only=True, tag="confirm"):
    """The child holds everything durable and waits for the answer before it commits."""

    id: int
    source: str


class TurnWanted(_Event, frozen=True, kw_only=True, tag="turn"):
    """The child reads nothing of this source before the answer; told only where the request has `turn_seconds`."""

    id: int
    source: str


class SourceFinished(_Event, frozen=True, kw_only=True, tag="source_finished"):
    """This source's end: `result` when it succeeded (of a dry run: `forecast`), else `error`.

    `skipped`, and `failed` without a start, are what the answer to its TurnWanted said. What was open in the source is
    closed by then.
    """

    source: str
    status: Literal["succeeded", "failed", "skipped"]
    result: SourceFigures | None = None
    error: ErrorInfo | None = None
    forecast: ForecastFigures | None = None


class Log(_Event, frozen=True, kw_only=True, tag="log"):
    """A line for people; holds no secret and no raw bytes."""

    level: Literal["info", "warning", "error"]
    message: str


class ContentBegins(_Event, frozen=True, kw_only=True, tag="content_begins"):
    """The file has `size` bytes; `count` of them, from `first` on, come through the pipe of the request now."""

    size: int
    first: int = 0
    count: int


class Finished(_Event, frozen=True, kw_only=True, tag="finished"):
    """Last line of an operation that reached its end (its sources may have failed); `seen` as in Opened, now."""

    result: dict[str, Any]
    seen: HighWater | None = None


class Failed(_Event, frozen=True, kw_only=True, tag="failed"):
    """Last line of an operation that ended early."""

    error: ErrorInfo


Event = (
    Opened
    | TurnWanted
    | SourceStarted
    | Progress
    | ConfirmWanted
    | SourceFinished
    | Log
    | ContentBegins
    | Finished
    | Failed
)


class _Command(Struct, frozen=True, kw_only=True, tag_field="command"):
    """Base of all commands."""


class ConfirmAnswer(_Command, frozen=True, kw_only=True, tag="confirm"):
    """`ok` false = the lease is lost: the child commits nothing."""

    id: int
    ok: bool


TurnVerdict = Literal["go", "skip", "fail"]


class TurnAnswer(_Command, frozen=True, kw_only=True, tag="turn"):
    """`go`: the source is read now. Else it ends unread, as skipped or failed, with the `error` that says why."""

    id: int
    verdict: TurnVerdict
    error: ErrorInfo | None = None


class Cancel(_Command, frozen=True, kw_only=True, tag="cancel"):
    """Stop, commit nothing more, tell the end."""


Command = ConfirmAnswer | TurnAnswer | Cancel

_encoder = msgspec.json.Encoder()
_requests = msgspec.json.Decoder(Request)
_events: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_commands: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)

MalformedLineError = msgspec.DecodeError


def encode_line(message: Request | Event | Command) -> bytes:
    """Return `message` as one line of JSON with its line feed."""
    return _encoder.encode(message) + b"\n"


def encode_request(request: Request) -> bytes:
    """Return the first line for a child's stdin.

    Raises ConfigurationError where a text of the request is none: a command line can hold any bytes. The message does
    not show it, since a password is one of them.
    """
    try:
        return encode_line(request)
    except UnicodeEncodeError:
        raise ConfigurationError(
            "a word of the command is not UTF-8 text", hint="ids, tags and names of sources are text; paths may be any"
        ) from None


def decode_request(line: bytes) -> Request:
    """Decode the first line on stdin; MalformedLineError when it is not a request."""
    return _requests.decode(line)


def decode_event(line: bytes) -> Event:
    """Decode a line of the child's stdout; MalformedLineError when it is not an event."""
    return _events.decode(line)


def decode_command(line: bytes) -> Command:
    """Decode a later line on stdin; MalformedLineError when it is not a command."""
    return _commands.decode(line)
