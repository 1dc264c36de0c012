"""Backs up a source that is one stream of content: a block device, or what a command writes.

Owns the one file that such a backup holds, and what keeps it from being committed. There is nothing to walk and
nothing to compare by times: all is read each time, and known content is not stored again.
"""

import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

from repositories.engine.backup.checkpoints import Checkpoints
from repositories.engine.backup.committing import BackupTask, Described, begin, commit, usable_in
from repositories.engine.backup.content import is_zero
from repositories.engine.backup.describe import Figures
from repositories.engine.backup.extents import ExtentCollector
from repositories.engine.backup.options import BackupOptions, BackupResult, Hooks, SourceSpec
from repositories.engine.backup.parent import Lineage, choose_lineage
from repositories.engine.backup.problem_log import ProblemLog
from repositories.engine.backup.pulse import Pulse
from repositories.engine.backup.session import BackupSession, Stream
from repositories.engine.display import show_bytes, show_path, show_text
from repositories.engine.errors import ConfigurationError, SourceEmptyError
from repositories.engine.ids import ChunkKind
from repositories.engine.manifest.entries import FLAG_YOUNG, Entry, EntryType, encode, pack_time
from repositories.engine.manifest.entry_writer import EntryWriter
from repositories.engine.manifest.problems import ProblemKind
from repositories.engine.manifest.root import MAX_HEADS
from repositories.engine.source.command import Command, CommandOutput
from repositories.engine.source.device import DeviceReader, open_device
from repositories.engine.source.mounted import writable_mount_on

STDIN_PREFIX = b"stdin:"
"""A command's source is known by this and the name that its output gets."""
_NAME_LIMIT = 255
_AGAIN = "run it again: it is read from its beginning, and what was stored of it is not stored twice"
_MODE = stat.S_IFREG | 0o600


@dataclass(frozen=True, slots=True)
class _Run:
    """One backup on its way."""

    task: BackupTask
    lineage: Lineage
    problems: ProblemLog
    pulse: Pulse
    name: bytes
    checkpoints: Checkpoints


def back_up_device(session: BackupSession, source: SourceSpec, options: BackupOptions, hooks: Hooks) -> BackupResult:
    """Back up the block device at the source's path as one file of the device's base name; commit it.

    Raises as `back_up` does; a part that cannot be read is an error here (SourceUnreadableError), for an image with
    gaps is no backup. A writable file system that is mounted from the device is a warning of the result.
    """
    with ExitStack() as opened:
        run = _begin(session, source, (options, hooks), os.path.basename(source.path))
        opened.enter_context(run.checkpoints.guarding())
        device = open_device(source.path)
        reader = opened.enter_context(DeviceReader(device, run.pulse.taken))
        _warn_if_mounted(run, device.number)
        content = _read(run, reader)
        grown = reader.finish()
        if grown:
            detail = f"grew by {grown:,} bytes while it was read; the image has what it held at the start"
            run.problems.report(ProblemKind.STILL_CHANGING, run.name, detail)
    return _commit(run, content)


def back_up_command(
    session: BackupSession, source: SourceSpec, command: Command, options: BackupOptions, hooks: Hooks
) -> BackupResult:
    """Back up what `command` writes as one file; its name is what follows `stdin:` in the source's path; commit it.

    Raises as `back_up` does; CommandFailedError when the command cannot be started or does not end with 0. The last
    lines on its stderr are logged in either case.
    """
    name = stdin_name(source.path)
    if not command.can_be_started:
        raise ConfigurationError("there is no command whose output could be backed up", hint="give it after --")
    run = _begin(session, source, (options, hooks), name)
    output = CommandOutput(command, run.pulse.beat, run.pulse.taken)
    level: Literal["info", "warning"] = "warning"
    try:
        with run.checkpoints.guarding(), output:
            content = _read(run, output)
            output.finish()
            level = "info"
    finally:
        for line in output.last_words:
            hooks.log(level, f"{command.program}: {line}")
    return _commit(run, content)


def stdin_name(path: bytes) -> bytes:
    """Return the file name in the path of a command's source; raises ConfigurationError when it cannot be one."""
    name = path.removeprefix(STDIN_PREFIX)
    if not path.startswith(STDIN_PREFIX) or not name or name in (b".", b"..") or b"/" in name or b"\0" in name:
        raise ConfigurationError(
            f"{show_path(name)!r} cannot name the output of a command", hint="give a file name without /, as in db.sql"
        )
    if len(name) > _NAME_LIMIT:
        raise ConfigurationError(
            f"the name of a command's output has {len(name)} bytes; {_NAME_LIMIT} is the limit", hint="shorten it"
        )
    return name


def _begin(session: BackupSession, source: SourceSpec, order: tuple[BackupOptions, Hooks], name: bytes) -> _Run:
    options, hooks = order
    task = begin(session, source, options, hooks)
    names = (options.backup_id, source.name)
    lineage = choose_lineage(session.repository, names, options.parent, usable_in(session), MAX_HEADS)
    pulse = Pulse(hooks, _AGAIN)
    pulse.current = name
    pulse.check_cancelled()
    # Without an entry to put there is no checkpoint; the chunks so far are kept all the same.
    checkpoints = Checkpoints(session, hooks.clock, pulse, options)
    return _Run(task, lineage, ProblemLog(session, strict=options.strict), pulse, name, checkpoints)


def _warn_if_mounted(run: _Run, device: int) -> None:
    where = writable_mount_on(device)
    if where is not None:
        detail = f"mounted writable at {where}: the image may be inconsistent; a snapshot holds still"
        run.problems.report(ProblemKind.MOUNTED, run.name, detail)


def _read(run: _Run, stream: Stream) -> ExtentCollector:
    session = run.task.session
    extents = ExtentCollector(session)
    for chunk in session.repository.chunker().cut(stream):
        if is_zero(chunk):
            extents.add_hole(len(chunk))
        else:
            extents.add_chunk(session.put(ChunkKind.DATA, chunk)[0], len(chunk))
        run.pulse.bytes_stored = session.stored_bytes
    return extents


def _commit(run: _Run, content: ExtentCollector) -> BackupResult:
    size = content.length
    _refuse_sudden_emptiness(run, size)
    writer = EntryWriter(run.task.session)
    writer.open_directory(b"")
    writer.add(run.name, encode(_entry(run, content)))
    figures = Figures(files=1, logical_bytes=size)
    run.pulse.files = 1
    run.pulse.report("storing")
    described = Described(None, writer.finish())
    return commit(run.task, run.lineage, (figures, described), (run.problems, run.pulse))


def _entry(run: _Run, content: ExtentCollector) -> Entry:
    extents, stream = content.finish()
    # The time is the image's: neither a device nor a pipe has one that says anything about its content.
    started = pack_time(run.task.started_ns)
    return Entry(
        type=EntryType.FILE,
        name=run.name,
        mode=_MODE,
        uid=os.geteuid(),
        gid=os.getegid(),
        size=content.length,
        mtime=started,
        ctime=started,
        inode=0,
        flags=FLAG_YOUNG,
        extents=extents,
        stream=stream,
    )


def _refuse_sudden_emptiness(run: _Run, size: int) -> None:
    """A command that wrote nothing may have lost what it should write: never a green backup of nothing."""
    parent = run.lineage.parent or run.lineage.previous
    if size or run.task.options.accept_new_root or parent is None or not parent.root.statistics.logical_bytes:
        return
    held = show_bytes(parent.root.statistics.logical_bytes)
    raise SourceEmptyError(
        f"source {show_text(run.task.source.name)} gave nothing, but {held} in backup {parent.short_id}",
        hint="does the command write to its standard output? if nothing is right, give --accept-new-root",
    )
