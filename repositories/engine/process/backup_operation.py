"""The operation `backup`: one repository opened once, each source backed up into it (A4, A6).

Owns the loop over sources and which errors end only one of them. The engine's backup owns all the rest.
"""

import os
from typing import Any, Literal

from repositories.engine import ids
from repositories.engine.backup import BackupOptions, BackupResult, Hooks, SourceSpec, back_up
from repositories.engine.clock import SYSTEM_CLOCK
from repositories.engine.display import path_fields, show_count, show_path, show_text
from repositories.engine.errors import BackupExistsError, BackupNotFoundError, ConfigurationError, SourceError
from repositories.engine.manifest.problems import Problem, Severity
from repositories.engine.process.channel import Channel
from repositories.engine.process.failures import error_info
from repositories.engine.process.introduction import introduce, introduce_writer, uuid_of
from repositories.engine.process.protocol import (
    ErrorInfo,
    Log,
    ProblemInfo,
    SourceFigures,
    SourceFinished,
    SourceStarted,
)
from repositories.engine.process.reports import bucket_of, progress_event
from repositories.engine.process.requests import Request, RunReference, SourceRequest
from repositories.engine.process.taking_back import taking_back
from repositories.engine.progress import Progress as Report
from repositories.engine.progress import ProgressGate
from repositories.engine.repository import Repository, WriteOptions, WriteSession
from repositories.engine.throttle import Throttle

FILE_SYSTEM = "filesystem"

# These say that one source cannot be backed up; everything else concerns the repository or the whole run.
_ENDS_ONE_SOURCE = (SourceError, ConfigurationError, BackupNotFoundError, BackupExistsError)
_UNEXPLAINED = ErrorInfo(code="ENGINE_PROTOCOL", message="the caller left this source out and did not say why")


def back_up_sources(request: Request, channel: Channel) -> dict[str, Any]:
    """Back up each source of the request. A failed source is told and left; a repository's error is raised."""
    run = request.run
    if run is None or not request.sources:
        raise ConfigurationError("a backup needs a run and at least one source", hint="this is a defect of the caller")
    _refuse_repeated(request.sources)
    if request.dry_run:
        return _look_at_sources(request, run, channel)
    bucket = bucket_of(request, channel)
    repository = introduce_writer(request, channel)
    ends = []
    options = WriteOptions(compression=request.compression)
    with repository.begin_write(options) as session, taking_back(request.repository, session):
        _tell_absent(len(session.absent_packs), channel)
        for source in request.sources:
            ends.append(_SourceRun(request, run, source, channel, bucket).execute(session))
        _tell_absent(len(session.reader().index.found_absent), channel)
    skipped = {} if request.turn_seconds is None else {"skipped": ends.count("skipped")}
    return {"succeeded": ends.count("succeeded"), "failed": ends.count("failed"), **skipped}


def _look_at_sources(request: Request, run: RunReference, channel: Channel) -> dict[str, Any]:
    repository = introduce(request, channel)
    done = sum(_SourceRun(request, run, source, channel, None).rehearse(repository) for source in request.sources)
    return {"succeeded": done, "failed": len(request.sources) - done}


def _refuse_repeated(sources: tuple[SourceRequest, ...]) -> None:
    """The id of a backup comes from run, type and path: two sources that agree in these would have one id."""
    seen: set[tuple[str, bytes]] = set()
    for source in sources:
        identity = (source.type, os.path.normpath(source.path))
        if identity in seen:
            raise ConfigurationError(
                f"source {show_path(source.path)} is named twice in this run", hint="name each source once"
            )
        seen.add(identity)


def _tell_absent(count: int, channel: Channel) -> None:
    if count:
        are = "is" if count == 1 else "are"
        message = (
            f"{show_count(count, 'pack')} of the repository {are} missing or cut: earlier backups may be harmed; "
            "this backup stores again what its sources still have; run check"
        )
        channel.send(Log(level="warning", message=message))


class _SourceRun:
    """One source of the run."""

    def __init__(
        self, request: Request, run: RunReference, source: SourceRequest, channel: Channel, bucket: Throttle | None
    ) -> None:
        self._request = request
        self._run = run
        self._source = source
        self._channel = channel
        self._bucket = bucket

    def execute(self, session: WriteSession) -> str:
        """Back it up, once its turn has come; return its status, which has been told."""
        ended = self._left_out() or self._finished(session)
        # Only now: an error that is being handled may hold something in the source, which may be unmounted next.
        self._channel.send(ended)
        return ended.status

    def _left_out(self) -> SourceFinished | None:
        """Wait for the source's turn, where the request wants that; return its end if it is left out."""
        key, seconds = self._source.key, self._request.turn_seconds
        if seconds is None:
            return None
        answer = self._channel.turn(key, seconds)
        if answer.verdict == "go":
            return None
        status: Literal["skipped", "failed"] = "skipped" if answer.verdict == "skip" else "failed"
        return SourceFinished(source=key, status=status, error=answer.error or _UNEXPLAINED)

    def _finished(self, session: WriteSession) -> SourceFinished:
        key = self._source.key
        self._channel.send(SourceStarted(source=key))
        try:
            result = self._back_up(session)
        except _ENDS_ONE_SOURCE as error:
            return SourceFinished(source=key, status="failed", error=error_info(error))
        return SourceFinished(source=key, status="succeeded", result=figures_of(result))

    def rehearse(self, repository: Repository) -> bool:
        """Look what a backup would do; return whether it would commit."""
        # Imported when needed, as all that few runs need.
        from repositories.engine.process.dry_runs import forecast_of

        key = self._source.key
        self._channel.send(SourceStarted(source=key))
        try:
            forecast = forecast_of(repository, (self._spec(), self._options(), self._hooks()), _problem)
        except _ENDS_ONE_SOURCE as error:
            self._channel.send(SourceFinished(source=key, status="failed", error=error_info(error)))
            return False
        self._channel.send(SourceFinished(source=key, status="succeeded", forecast=forecast))
        return True

    def _back_up(self, session: WriteSession) -> BackupResult:
        parts = (self._spec(), self._options(), self._hooks())
        if self._source.type == FILE_SYSTEM:
            return back_up(session, *parts)
        # Imported when needed: what starts a command takes longer to import than a small tree takes to read.
        from repositories.engine.process.stream_sources import back_up_stream

        return back_up_stream(session, self._source, *parts)

    def _spec(self) -> SourceSpec:
        source = self._source
        return SourceSpec(
            name=source.name,
            path=source.path,
            type=source.type,
            excludes=source.excludes,
            one_file_system=source.options.one_file_system,
            ignore_inode=source.options.ignore_inode,
            ignore_ctime=source.options.ignore_ctime,
            skip_paths=self._request.skip_paths,
            exclude_ignoring_case=source.options.exclude_ignoring_case,
            exclude_caches=source.options.exclude_caches,
            reread_percent=source.options.reread_percent,
        )

    def _options(self) -> BackupOptions:
        run, source = self._run, self._source
        return BackupOptions(
            backup_id=ids.backup_id(uuid_of(run.id, "run id"), source.type, source.path),
            run_id=run.id,
            host=self._request.host,
            strict=self._request.strict,
            scheduled_for_ns=run.scheduled_for_ns,
            parent=source.options.parent,
            tags=self._request.tags,
            accept_new_root=source.options.accept_new_root,
            trigger=run.trigger,
            run_fence=run.fence,
            checkpoint_seconds=self._request.checkpoint_seconds,
        )

    def _hooks(self) -> Hooks:
        key, channel = self._source.key, self._channel

        def report(progress: Report) -> None:
            channel.send(progress_event(progress, key))

        return Hooks(
            report=ProgressGate(report, SYSTEM_CLOCK.monotonic),
            cancelled=channel.cancelled,
            confirm=lambda: channel.confirm(key),
            read_bucket=self._bucket,
            log=lambda level, message: channel.send(Log(level=level, message=message)),
        )


def figures_of(result: BackupResult) -> SourceFigures:
    """Return a backup's result as data."""
    return SourceFigures(
        backup_id=result.backup_id,
        manifest_id=result.manifest_id,
        chain=result.chain,
        mode=result.mode,
        parent_id=result.parent_id,
        files=result.files,
        directories=result.directories,
        links=result.links,
        others=result.others,
        logical_bytes=result.logical_bytes,
        bytes_read=result.bytes_read,
        bytes_stored=result.bytes_stored,
        new_chunks=result.new_chunks,
        skipped=result.skipped,
        warnings=result.warnings,
        notes=result.notes,
        note_counts={count.kind: count.count for count in result.problem_counts if count.severity == Severity.NOTE},
        problems=tuple(map(_problem, result.problems)),
        started_ns=result.started_ns,
        finished_ns=result.finished_ns,
        sequence=result.sequence,
    )


def _problem(problem: Problem) -> ProblemInfo:
    return ProblemInfo(
        severity=problem.severity.name.lower(),
        code=str(problem.kind),
        message=show_text(problem.detail),
        **path_fields(problem.path or b"."),
    )
