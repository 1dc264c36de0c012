"""`./syncova ctl backup get`: one file of a backup, downloaded over the API; whole, or not there at all."""

import base64
import http.client
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from typer import Argument, Option

from jobs.ctl.api import Api, Json
from jobs.ctl.backup_verbs import find_backup
from jobs.ctl.kept_parts import KeptParts
from jobs.ctl.server import find_server
from jobs.ctl.whole_file import Draft, Emit, refuse_taken, whole_file
from repositories.cli.byte_output import destination
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.terminal import terminal_of
from repositories.engine.display import path_fields, show_bytes, show_text

NAME = "get"
HELP = (
    "Download one regular file of a backup, where the server itself reaches the repository; elsewhere it tells the "
    "command to type there. The file is named FILE once all of it has come: a download that breaks off leaves nothing, "
    "or with --resume what has come, hidden beside FILE. "
    "Needs the right backups.read_content, and stands in the audit trail."
)
EXAMPLES = (
    "get 019ad1c2-7d00-7c11-8f2e-6f6f6e657273 documents/letter.odt",
    "get 019ad1c2-7d00-7c11-8f2e-6f6f6e657273 documents/letter.odt -o /tmp/letter.odt --force",
    "get 019ad1c2-7d00-7c11-8f2e-6f6f6e657273 mail.mbox --resume",
    "get 019ad1c2-7d00-7c11-8f2e-6f6f6e657273 mail.mbox -o -",
)
STDOUT: Final = "-"
_PIECE: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutputOptions):
    """What `backup get` takes."""

    backup: Annotated[str, Argument(metavar="BACKUP", help="Its id, as list shows it.")]
    path: Annotated[str, Argument(metavar="[PATH]", help="As it was on the source, or relative to it.")] = ""
    output: Annotated[
        str | None,
        Option("--output", "-o", metavar="FILE", help="Write it there, - to standard output; else to its name, here."),
    ] = None
    force: Annotated[bool, Option("--force", help="Replace a file that is there already.")] = False
    resume: Annotated[
        bool, Option("--resume", help="Keep what came if it breaks off, and go on from there when it is run again.")
    ] = False


class BrokenOffError(CommandError):
    """A download ended before all of it was sent, or nothing tells how much that is."""

    code: ClassVar[str] = "CONTENT_BROKEN_OFF"
    exit_code: ClassVar[int] = exits.FAILED


def run(options: Options) -> int:
    """Download it and say how large it is."""
    terminal, output = terminal_of(options), _output(options)
    if output == STDOUT:
        if options.json:
            raise CommandError("with --json standard output is for its object", hint="give --output FILE for the bytes")
        if options.resume:
            raise CommandError("of standard output nothing is kept", hint="give --output FILE, or leave --resume out")
        with destination(None, terminal) as emit:
            api = Api(find_server())
            size = _download(api, find_backup(api, options.backup), options.path, emit)
        terminal.note(f"{show_text(options.path)}: {show_bytes(size)}")
        return exits.DONE
    # Before anything is asked for: who took what stands in the audit trail.
    target = refuse_taken(output, replace=options.force)
    backup, size = _to_file(options, target)
    terminal.line(f"{show_text(output)}: {show_bytes(size)}")
    exact = os.fsencode(options.path)
    terminal.document({"backup": backup, **path_fields(exact), "output": show_text(output), "bytes": size})
    return exits.DONE


def _to_file(options: Options, target: Path) -> tuple[Json, int]:
    api = Api(find_server())
    backup = find_backup(api, options.backup)
    parts = KeptParts(target, (api.url, backup["id"], options.path)) if options.resume else None
    with whole_file(target, replace=options.force, parts=parts) as draft:
        try:
            _download(api, backup, options.path, draft, draft)
        except BrokenOffError as error:
            if not options.resume:
                raise
            raise BrokenOffError(error.message, hint="what came is kept: run it again, and it goes on there") from error
        return backup, draft.length


def _output(options: Options) -> str:
    """Return where the bytes go: what was asked for, else the file's own name in the working directory."""
    if options.output is not None:
        return options.output
    name = os.path.basename(options.path.rstrip("/"))
    if name in ("", ".", ".."):
        raise CommandError("nothing says how the file is to be named", hint="give --output FILE")
    return os.path.join(os.curdir, name) if name == STDOUT else name


def _download(api: Api, backup: Json, path: str, emit: Emit, draft: Draft | None = None) -> int:
    """Return how many bytes came; a draft may have the first ones already, and then gets the rest."""
    place = f"repositories/{backup['repository']['id']}/backups/{backup['id']}/content"
    exact = base64.b64encode(os.fsencode(path)).decode("ascii")
    with api.opened(place, {"path_base64": exact} if path else {}, _rest_of(draft)) as answer:
        if draft is not None:
            _go_on(draft, answer)
        size = _length(answer)
        for piece in _pieces(answer, size):
            emit(piece)
    return size


def _rest_of(draft: Draft | None) -> dict[str, str]:
    """Return the headers that ask for what a draft lacks, of the same file alone (RFC 9110)."""
    if draft is None or not draft.length:
        return {}
    return {"Range": f"bytes={draft.length}-", "If-Range": draft.tag}


def _go_on(draft: Draft, answer: Any) -> None:
    """Let the draft begin anew, unless the answer goes on exactly where it ends."""
    begins = answer.headers.get("Content-Range", "").startswith(f"bytes {draft.length}-")
    if draft.length and not (answer.status == http.HTTPStatus.PARTIAL_CONTENT and begins):
        draft.begin_anew()
    draft.tag = answer.headers.get("ETag", "")


def _length(answer: Any) -> int:
    told = answer.headers.get("Content-Length", "")
    if not told.isdecimal():
        raise BrokenOffError(
            "the answer does not tell how many bytes it has, so nothing would show that all of them came",
            hint="let what stands before the server pass Content-Length on",
        )
    return int(told)


def _pieces(answer: Any, size: int) -> Iterator[bytes]:
    left = size
    while left:
        try:
            piece = answer.read(min(left, _PIECE))
        except (http.client.HTTPException, OSError) as error:
            raise _broken_off(size - left, size) from error
        if not piece:
            raise _broken_off(size - left, size)
        left -= len(piece)
        yield piece


def _broken_off(came: int, size: int) -> BrokenOffError:
    return BrokenOffError(
        f"the download broke off: {came:,} of {size:,} bytes came",
        hint="run it again, with --resume to keep what comes; where it breaks off at the same place, ./syncova ctl "
        "repository check says what is damaged",
    )
