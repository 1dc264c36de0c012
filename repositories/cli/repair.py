"""`syncova-repo repair`: mends what can be mended, sets aside what is bad, names what is lost."""

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from repositories.cli.arguments import LOCATION_RULE, LongLocationOptions, expect
from repositories.cli.check import print_hurt
from repositories.console.engine_run import run_engine
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_count
from repositories.engine.process.requests import RepairOrder, Request
from syncova_project import clock

NAME = "repair"
HELP = (
    "Mend a repository: second copies, the index, packs without a directory. What can be read of a bad pack is stored "
    f"anew, the pack itself set aside, never deleted. What is lost is named; exit code 13. {LOCATION_RULE}"
)
EXAMPLES = (
    "repair /mnt/backups/home --dry-run",
    "repair /mnt/backups/home --read-data",
    "repair /mnt/backups/home --adopt all",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LongLocationOptions):
    """What `repair` takes."""

    dry_run: Annotated[bool, Option("--dry-run", help="Tell the steps; change nothing.")] = False
    read_data: Annotated[
        bool, Option("--read-data", help="Read all data first, to find what no check has found yet.")
    ] = False
    adopt: Annotated[
        tuple[str, ...],
        Option(
            "--adopt",
            metavar="ID|all",
            help="Make a backup of a manifest that came too late for a prune, if all it needs is still there.",
        ),
    ] = ()


def run(options: Options) -> int:
    """Repair in an engine child and print what was done."""
    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    view = choose_view(options.progress, terminal, clock.monotonic)
    request = Request(
        operation="repair",
        repository=access(location, options, terminal),
        dry_run=options.dry_run,
        repair=RepairOrder(read_data=options.read_data, adopt=options.adopt),
    )
    report = run_engine(request, view, terminal).result
    _print(terminal, report)
    terminal.document(report)
    return int(report["exit_code"])


def _print(terminal: Terminal, report: dict[str, Any]) -> None:
    for step in report["steps"]:
        state = "would" if report["dry_run"] else "done" if step["done"] else "NOT DONE"
        terminal.line(f"{state}: {step['kind']}: {step['object']}: {step['message']}")
    if report["step_count"] > len(report["steps"]):
        terminal.line(f"and {report['step_count'] - len(report['steps']):,} more")
    for backup in report["adopted"]:
        terminal.line(f"adopted: backup {backup}")
    if report["chunks_saved"] or report["chunks_lost"]:
        saved, lost = report["chunks_saved"], report["chunks_lost"]
        terminal.line(f"{show_count(saved, 'chunk')} stored anew out of bad packs, {lost:,} lost")
    check = report["check"]
    print_hurt(terminal, check["hurt_backups"])
    _print_verdict(terminal, report, check)


def _print_verdict(terminal: Terminal, report: dict[str, Any], check: dict[str, Any]) -> None:
    if report["dry_run"]:
        terminal.line(f"nothing was changed; {show_count(report['step_count'], 'step')} to do")
    elif check["ok"]:
        terminal.line(f"no problems are left in {show_count(check['backups'], 'backup')}")
    else:
        terminal.line(f"{show_count(check['problem_count'], 'problem')} left: {check['problems'][0]['message']}")
    if check["hurt_backups"] and not report["dry_run"]:
        terminal.note("Next: back up the sources again: what they still have is stored anew; then check again")
