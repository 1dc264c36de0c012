"""What `syncova-agent backup` is to back up: paths, block devices, or the output of a command, as sources of a request.

Owns which options go together. Starts and reads nothing itself.
"""

import os
from collections.abc import Iterator
from typing import Any

from msgspec import structs

from agents.runtime.backup_options import Options
from repositories.console.failures import CommandError
from repositories.console.paths import absolute
from repositories.engine.display import show_path, show_text
from repositories.engine.process.requests import CommandPlace, SourceOptions, SourceRequest
from syncova_project import env

_DEVICE, _STDIN = "device", "stdin"
_NAME_LIMIT = 255
# What says something about a tree; a device and a command have none.
_ABOUT_TREES = (
    "exclude",
    "exclude_file",
    "exclude_ignore_case",
    "exclude_caches",
    "one_file_system",
    "ignore_inode",
    "ignore_ctime",
    "reread",
)


def sources_of(options: Options, rules: tuple[str, ...]) -> tuple[SourceRequest, ...]:
    """Return the sources that the options name; `rules` are the exclude rules of the trees among them."""
    sources = tuple(_with_keys(_all(options, rules)))
    if not sources:
        raise CommandError("--path is missing", hint="say what to back up: --path /home")
    if len(sources) > 1 and (options.source is not None or options.parent is not None):
        raise CommandError("--source and --parent belong to one path", hint="run it once for each --path")
    return sources


def _all(options: Options, rules: tuple[str, ...]) -> Iterator[SourceRequest]:
    _check_command(options)
    if not options.path:
        _refuse_options_of_trees(options)
    # One source written twice is one source: two backups of it in one run would have one id.
    for path in dict.fromkeys(absolute(path, "--path") for path in options.path):
        yield _source(options, path, excludes=rules)
    for path in dict.fromkeys(absolute(path, "--device") for path in options.device):
        yield _source(options, path, type=_DEVICE)
    if options.stdin is not None:
        yield _command_source(options, options.stdin)


def _with_keys(sources: Iterator[SourceRequest]) -> Iterator[SourceRequest]:
    for index, source in enumerate(sources):
        yield structs.replace(source, key=str(index))


def _check_command(options: Options) -> None:
    if options.stdin is None:
        if options.command:
            word = show_text(options.command[0])
            raise CommandError(
                f"{word!r} is one word too many", hint="a path needs --path; a command needs --stdin NAME before it"
            )
        return
    if options.path or options.device:
        raise CommandError(
            "--stdin does not go with --path and --device", hint="run it once for each: a command may fail by itself"
        )
    if not options.command:
        raise CommandError("--stdin needs a command", hint="give it last, after --: --stdin db.sql -- pg_dump mydb")
    if not options.command[0]:
        raise CommandError("the command after -- is empty", hint="check the variable that should hold it")


def _refuse_options_of_trees(options: Options) -> None:
    for name in _ABOUT_TREES:
        if getattr(options, name):
            raise CommandError(
                f"--{name.replace('_', '-')} says something about a tree, and there is none",
                hint="leave it out: a device and the output of a command are backed up whole",
            )


def _command_source(options: Options, name: str) -> SourceRequest:
    raw = os.fsencode(name)
    if not raw or raw in (b".", b"..") or b"/" in raw or len(raw) > _NAME_LIMIT:
        raise CommandError(
            f"--stdin {show_path(raw)} cannot name a file",
            hint=f"give a name of at most {_NAME_LIMIT} bytes without /, as in db.sql",
        )
    # Its own environment, as the shell gave it, but for what opens the repository.
    variables = env.inherited(without_settings=True).items()
    place = CommandPlace(
        directory=absolute(".", "the working directory"),
        environment=tuple((os.fsencode(key), os.fsencode(value)) for key, value in variables if key),
    )
    command = tuple(map(os.fsencode, options.command))
    return _source(options, b"stdin:" + raw, type=_STDIN, command=command, place=place)


def _source(options: Options, path: bytes, **fields: Any) -> SourceRequest:
    return SourceRequest(
        key="",
        name=options.source or f"{show_text(os.uname().nodename)}:{show_path(path)}",
        path=path,
        **fields,
        options=SourceOptions(
            one_file_system=options.one_file_system,
            ignore_inode=options.ignore_inode,
            ignore_ctime=options.ignore_ctime,
            accept_new_root=options.accept_new_root,
            parent=options.parent,
            exclude_ignoring_case=options.exclude_ignore_case,
            exclude_caches=options.exclude_caches,
            reread_percent=options.reread,
        ),
    )
