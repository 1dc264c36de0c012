"""`syncova-repo repair`: mends what can be mended, sets aside what is bad, names what is lost."""

from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import structs

from repositories.cli.arguments import LOCATION_RULE, LongLocationOptions, expect
from repositories.cli.check import print_hurt, print_proof
from repositories.cli.durations import parse_duration
from repositories.cli.reserve import tell_of_reserve
from repositories.console import exits
from repositories.console.confirming import confirm
from repositories.console.engine_run import run_engine
from repositories.console.failures import CommandError
from repositories.console.options import Option
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count
from repositories.engine.process.requests import RepairOrder, Request
from syncova_project import clock
from syncova_project.instants import nanoseconds

NAME = "repair"
HELP = (
    "Mend a repository: second copies, the index, packs without a directory, marks and sweeps of prunes, notes. What "
    "can be read of a bad pack is stored anew; what is bad is set aside, never deleted. What is lost is named; exit "
    f"code 13. --remove-aside does nothing but remove what was set aside. {LOCATION_RULE}"
)
EXAMPLES = (
    "repair /mnt/backups/home --dry-run",
    "repair /mnt/backups/home --read-data",
    "repair /mnt/backups/home --adopt all",
    "repair /mnt/backups/home --remove-aside --older-than 30d",
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
    remove_aside: Annotated[
        bool, Option("--remove-aside", help="Remove for good what was set aside; mend nothing. Asks first.")
    ] = False
    older_than: Annotated[
        str | None, Option("--older-than", metavar="TIME", help="Only what was set aside so long ago: 30d, 12h.")
    ] = None
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False


def run(options: Options) -> int:
    """Repair in an engine child and print what was done; or remove what lies aside."""
    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    if options.remove_aside:
        if options.read_data or options.adopt:
            raise CommandError("--remove-aside mends nothing", hint="repair first, without it")
        return _clear_aside(location, options, terminal)
    if options.older_than is not None:
        raise CommandError("--older-than needs --remove-aside", hint="add it, or leave --older-than out")
    report = _run(location, options, terminal, RepairOrder(read_data=options.read_data, adopt=options.adopt))
    _print(terminal, report, read_data=options.read_data)
    terminal.document(report)
    return int(report["exit_code"])


def _run(
    location: str, options: Options, terminal: Terminal, order: RepairOrder, *, dry_run: bool = False
) -> dict[str, Any]:
    view = choose_view(options.progress, terminal, clock.monotonic)
    request = Request(
        operation="repair",
        repository=access(location, options, terminal),
        dry_run=options.dry_run or dry_run,
        repair=order,
    )
    return run_engine(request, view, terminal).result


def _clear_aside(location: str, options: Options, terminal: Terminal) -> int:
    """List what is to be removed, ask, and remove exactly that: nothing that is set aside meanwhile."""
    seconds = 0 if options.older_than is None else parse_duration(options.older_than)
    order = RepairOrder(remove_aside=True, aside_before_ns=nanoseconds(clock.now()) - seconds * 1_000_000_000)
    report = _run(location, options, terminal, structs.replace(order, ahead=not options.dry_run), dry_run=True)
    _print_aside(terminal, report)
    if report["aside_count"] and not options.dry_run:
        what = f"{show_count(report['aside_count'], 'object')} ({show_bytes(report['aside_bytes'])})"
        confirm(f"Remove {what} for good?", terminal, yes=options.yes)
        report = _run(location, options, terminal, order)
        terminal.line(f"{show_count(report['removed'], 'object')} removed")
    # The look before the question was a dry run, whoever asked for none.
    terminal.document({**report, "dry_run": options.dry_run})
    return exits.DONE


def _print_aside(terminal: Terminal, report: dict[str, Any]) -> None:
    for each in report["aside"]:
        since = "at a time that is not known" if each["since"] is None else f"since {each['since']}"
        terminal.line(f"aside: {each['object']}: {show_bytes(each['bytes'])}, {since}")
    if (more := report["aside_count"] - len(report["aside"])) > 0:
        terminal.line(f"and {more:,} more")
    if not report["aside_count"]:
        terminal.line("nothing lies aside")


def _print(terminal: Terminal, report: dict[str, Any], *, read_data: bool) -> None:
    for step in report["steps"]:
        state = "would" if report["dry_run"] else "done" if step["done"] else "NOT DONE"
        name = "" if step["object"] == step["kind"] else f"{step['object']}: "
        terminal.line(f"{state}: {step['kind']}: {name}{step['message']}")
    if report["step_count"] > len(report["steps"]):
        terminal.line(f"and {report['step_count'] - len(report['steps']):,} more")
    for backup in report["adopted"]:
        terminal.line(f"adopted: backup {backup}")
    if report["chunks_saved"] or report["chunks_lost"]:
        saved, lost = report["chunks_saved"], report["chunks_lost"]
        terminal.line(f"{show_count(saved, 'chunk')} stored anew out of bad packs, {lost:,} lost")
    check = report["check"]
    print_hurt(terminal, check["hurt_backups"])
    if report["aside_count"]:
        _print_aside(terminal, report)
    _print_verdict(terminal, report, check, read_data=read_data)


def _print_verdict(terminal: Terminal, report: dict[str, Any], check: dict[str, Any], *, read_data: bool) -> None:
    if report["dry_run"]:
        terminal.line(f"nothing was changed; {show_count(report['step_count'], 'step')} to do")
    elif check["ok"]:
        depth = "all data was read before" if read_data else "structure only (check --read-data for all)"
        terminal.line(f"no problems are left in {show_count(check['backups'], 'backup')}; {depth}")
    else:
        first = check["problems"][0]
        count = show_count(check["problem_count"], "problem")
        terminal.line(f"{count} left, the first: {first['kind']}: {first['object']}: {first['message']}")
    if not report["dry_run"]:
        print_proof(terminal, check, read_before=read_data)
    if check["hint"] and not (report["dry_run"] and report["step_count"]):
        terminal.note(f"Next: {check['hint']}")
    elif report["aside_count"] and check["ok"]:
        terminal.note("Next: when a backup and a check have ended well: repair --remove-aside removes what lies aside")
    tell_of_reserve(terminal, report)
    if not report["reserve_used"] and check["reserve"] != "present" and not report["dry_run"]:
        terminal.note(
            f"The reserve of the repository is {check['reserve']}: free 5 MiB (other files on the medium, a larger "
            "medium; forget and prune while they still work), then repair or prune again"
        )
