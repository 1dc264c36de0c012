"""Sources of a request that are one stream of content: which part of the engine reads them.

Owns the types' names. Reading and committing are the engine's backup.
"""

from repositories.engine.backup import BackupOptions, BackupResult, Hooks, SourceSpec
from repositories.engine.backup.single_stream import back_up_command, back_up_device
from repositories.engine.display import show_text
from repositories.engine.errors import ConfigurationError
from repositories.engine.process.requests import SourceRequest
from repositories.engine.repository import WriteSession
from repositories.engine.source.command import Command

DEVICE, STDIN = "device", "stdin"


def back_up_stream(
    session: WriteSession, source: SourceRequest, spec: SourceSpec, options: BackupOptions, hooks: Hooks
) -> BackupResult:
    """Back up a device or the output of a command; raises ConfigurationError for any other type."""
    if source.type == DEVICE:
        return back_up_device(session, spec, options, hooks)
    if source.type == STDIN:
        command = Command(source.command, source.place.environment, source.place.directory)
        return back_up_command(session, spec, command, options, hooks)
    raise ConfigurationError(
        f"{show_text(source.type)} is no type of source that this engine knows",
        hint=f"use filesystem, {DEVICE} or {STDIN}",
    )
