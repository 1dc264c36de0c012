"""What `syncova-agent backup --dry-run` tells of one source: what a backup would read, leave out and miss.

Owns the words. The verdict and the exit code are those of a backup, and `backup_report`'s.
"""

from typing import Any

import msgspec

from repositories.console.terminal import Terminal
from repositories.engine.display import show_bytes, show_count, show_text
from repositories.engine.ids import short_id
from repositories.engine.process.protocol import ForecastFigures


def print_forecast(terminal: Terminal, name: str, forecast: ForecastFigures) -> None:
    """Print what a backup of a source would do; its problems are printed as a backup's are."""
    parent = "nothing to compare with" if forecast.parent_id is None else f"compared with {_parent(forecast)}"
    terminal.line(f"{show_text(name)}: {parent}")
    terminal.line(
        f"  {show_count(forecast.new_files, 'new file')}, {forecast.changed_files:,} changed, "
        f"{forecast.unchanged_files:,} unchanged, {show_count(forecast.directories, 'directory')}, "
        f"{show_count(forecast.links, 'link')}, {forecast.others:,} others"
    )
    again = f", {show_count(forecast.reread_files, 'unchanged file')} among it" if forecast.reread_files else ""
    terminal.line(f"  {show_bytes(forecast.bytes_to_read)} of {show_bytes(forecast.logical_bytes)} to read{again}")
    if forecast.gone is not None:
        terminal.line(f"  {show_count(forecast.gone, 'object')} of the last backup would not be in")
    for rule in forecast.rules:
        terminal.line(f"  left out by rule {rule.number}, {show_text(rule.rule)}: {rule.count:,}")
    if forecast.idle_rules:
        terminal.line(f"  {show_count(forecast.idle_rules, 'rule')} left nothing out")


def forecast_fields(forecast: ForecastFigures) -> dict[str, Any]:
    """Return a forecast as JSON values; problems are left to whoever writes a backup's."""
    fields: dict[str, Any] = msgspec.to_builtins(forecast)
    del fields["parent_id"], fields["problems"]
    return {
        **fields,
        "parent": None if forecast.parent_id is None else show_text(forecast.parent_id),
        "rules": [
            {"number": rule.number, "rule": show_text(rule.rule), "count": rule.count} for rule in forecast.rules
        ],
    }


def _parent(forecast: ForecastFigures) -> str:
    return short_id(forecast.parent_id or "")
