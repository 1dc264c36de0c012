"""`syncova-repo check`: whether everything that the backups need is there and unharmed."""

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from repositories.cli.arguments import LOCATION_RULE, LongLocationOptions, expect
from repositories.console.engine_run import run_engine
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count
from repositories.engine.process.requests import CheckOrder, Request
from syncova_project import clock

NAME = "check"
HELP = f"Check a repository. With --read-data every byte is read. Damage ends with exit code 13. {LOCATION_RULE}"
EXAMPLES = ("check /mnt/backups/home", "check -r /mnt/backups/home --read-data --progress json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LongLocationOptions):
    """What `check` takes."""

    read_data: Annotated[bool, Option("--read-data", help="Read and verify all data, not structure only.")] = False


def run(options: Options) -> int:
    """Check in an engine child and print what was found."""
    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    view = choose_view(options.progress, terminal, clock.monotonic)
    request = Request(
        operation="check",
        repository=access(location, options, terminal),
        check=CheckOrder(read_data=options.read_data),
    )
    report = run_engine(request, view, terminal).result
    _print(terminal, report)
    terminal.document(report)
    return int(report["exit_code"])


def _print(terminal: Terminal, report: dict[str, Any]) -> None:
    for problem in report["problems"]:
        terminal.line(f"{problem['kind']}: {problem['object']}: {problem['message']}")
    if report["problem_count"] > len(report["problems"]):
        terminal.line(f"and {report['problem_count'] - len(report['problems']):,} more")
    for hurt in report["hurt_backups"]:
        terminal.line(f"backup {hurt['short_id']} of {hurt['source']} lacks {show_count(hurt['count'], 'object')}:")
        for path in hurt["paths"]:
            terminal.line(f"  {path}")
    verdict = "no problems found" if report["ok"] else f"{show_count(report['problem_count'], 'problem')} found"
    depth = (
        f"{show_bytes(report['bytes_read'])} read" if report["read_data"] else "structure only (--read-data for all)"
    )
    terminal.line(
        f"{verdict} in {show_count(report['backups'], 'backup')} and {show_count(report['packs'], 'pack')}; {depth}"
    )
    if report["unused_packs"]:
        held = f"{show_count(report['unused_packs'], 'pack')} ({show_bytes(report['unused_bytes'])})"
        terminal.line(f"{held} hold nothing of any backup: broken off, not finished, or their manifests are gone")
    if report["replaced_packs"]:
        held = show_count(report["replaced_packs"], "damaged pack")
        terminal.note(f"{held} not counted: other packs hold all of the content")
    if report["hint"]:
        terminal.note(f"Next: {report['hint']}")
