"""The operation `backup` as a dry run: each source looked at, nothing written anywhere.

Owns the forecast's form on the wire. What a backup would do is the engine's backup to say.
"""

from collections.abc import Callable

from repositories.engine.backup.dry_run import Forecast, rehearse
from repositories.engine.backup.options import BackupOptions, Hooks, SourceSpec
from repositories.engine.display import show_text
from repositories.engine.errors import ConfigurationError
from repositories.engine.manifest.problems import Problem, Severity
from repositories.engine.process.protocol import ForecastFigures, ProblemInfo, RuleFigures
from repositories.engine.repository import Repository

FILE_SYSTEM = "filesystem"


def forecast_of(
    repository: Repository, parts: tuple[SourceSpec, BackupOptions, Hooks], problem: Callable[[Problem], ProblemInfo]
) -> ForecastFigures:
    """Return what a backup would do, as data; raises what the backup would raise for the source as a whole."""
    source, options, hooks = parts
    if source.type != FILE_SYSTEM:
        raise ConfigurationError(
            f"a source of type {show_text(source.type)} has no dry run: all of it would be read",
            hint="leave out --dry-run",
        )
    return _figures(rehearse(repository, source, options, hooks), problem)


def _figures(forecast: Forecast, problem: Callable[[Problem], ProblemInfo]) -> ForecastFigures:
    return ForecastFigures(
        parent_id=forecast.parent_id,
        new_files=forecast.new_files,
        changed_files=forecast.changed_files,
        unchanged_files=forecast.unchanged_files,
        reread_files=forecast.reread_files,
        directories=forecast.directories,
        links=forecast.links,
        others=forecast.others,
        logical_bytes=forecast.logical_bytes,
        bytes_to_read=forecast.bytes_to_read,
        gone=forecast.gone,
        rules=tuple(RuleFigures(number=rule.number, rule=rule.text, count=rule.count) for rule in forecast.rules),
        idle_rules=forecast.idle_rules,
        skipped=forecast.skipped,
        warnings=forecast.warnings,
        notes=forecast.notes,
        note_counts={each.kind: each.count for each in forecast.problem_counts if each.severity == Severity.NOTE},
        problems=tuple(map(problem, forecast.problems)),
        started_ns=forecast.started_ns,
        finished_ns=forecast.finished_ns,
    )
