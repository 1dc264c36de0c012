"""`syncova-repo prune`: give back the room of what no backup uses."""

from dataclasses import dataclass
from typing import Annotated, Any

from repositories.cli.arguments import LOCATION_RULE, LongLocationOptions, expect
from repositories.cli.durations import parse_duration
from repositories.cli.reserve import tell_of_reserve
from repositories.console.engine_run import run_engine
from repositories.console.failures import CommandError
from repositories.console.options import Option
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count, show_text
from repositories.engine.process.requests import PruneOrder, Request
from syncova_project import clock

NAME = "prune"
HELP = (
    "Give back the room of deleted backups. Packs that no backup uses go; those of which much is unused are packed "
    "anew. Backups and restores may run meanwhile; it deletes after those that began before it have ended. Broken "
    f"off at any point, it is just run again. {LOCATION_RULE}"
)
EXAMPLES = (
    "prune /mnt/backups/home --dry-run",
    "prune -r /mnt/backups/home --max-unused 5% --max-duration 2h --json",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LongLocationOptions):
    """What `prune` takes."""

    dry_run: Annotated[bool, Option("--dry-run", help="Print the plan, change nothing.")] = False
    max_unused: Annotated[
        str,
        Option("--max-unused", metavar="PERCENT", help="So much of all may stay unused rather than be packed anew."),
    ] = "10%"
    max_duration: Annotated[
        str | None,
        Option("--max-duration", metavar="TIME", help="Stop packing and waiting then: 90m, 2h. The next one goes on."),
    ] = None


def run(options: Options) -> int:
    """Prune in an engine child and print what was planned and done."""
    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    seconds = None if options.max_duration is None else float(parse_duration(options.max_duration))
    order = PruneOrder(max_unused_percent=parse_percent(options.max_unused), max_seconds=seconds)
    view = choose_view(options.progress, terminal, clock.monotonic)
    request = Request(
        operation="prune",
        repository=access(location, options, terminal),
        dry_run=options.dry_run,
        prune=order,
    )
    report = run_engine(request, view, terminal).result
    _print(terminal, report)
    terminal.document(report)
    return int(report["exit_code"])


def parse_percent(text: str) -> float:
    """Return the number of `10%` or `2.5`; raises CommandError for what is not between 0 and 100."""
    number = text.strip().removesuffix("%").strip()
    try:
        percent = float(number) if number.isascii() else -1.0
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise CommandError(f"{show_text(text)} is no share of unused room", hint="give a percentage from 0% to 100%")
    return percent


def _print(terminal: Terminal, report: dict[str, Any]) -> None:
    plan = report["plan"]
    kept = f"{show_count(report['backups'], 'backup')} kept, {report['deleted_backups']:,} deleted"
    terminal.line(f"{kept}; {show_count(plan['packs'], 'pack')}, {show_bytes(plan['bytes'])}")
    if report["dry_run"]:
        _print_plan(terminal, plan)
        if report["repack_needs_bytes"]:
            terminal.note(f"Packing anew needs room first: {_lack(report)}")
    elif not report["waiting_for"]:
        _print_done(terminal, report)
    else:
        names = ", ".join(report["waiting_for"])
        terminal.warning(f"nothing was deleted yet: out of time while waiting for {names}")
        terminal.note("Next: run prune again when they have ended, or give it more time")
    tell_of_reserve(terminal, report)


def _print_plan(terminal: Terminal, plan: dict[str, Any]) -> None:
    for pack in plan["delete"]:
        why = "nothing uses it" if pack["indexed"] else "no index names it"
        terminal.line(f"delete {pack['pack']}: {show_bytes(pack['bytes'])}, {why}")
    for pack in plan["repack"]:
        used = f"{show_bytes(pack['used_bytes'])} of {show_bytes(pack['bytes'])} used"
        terminal.line(f"repack {pack['pack']}: {used}")
    listed = len(plan["delete"]) + len(plan["repack"])
    if (more := plan["delete_packs"] + plan["repack_packs"] - listed) > 0:
        terminal.line(f"and {more:,} more")
    terminal.line(
        f"would delete {show_count(plan['delete_packs'], 'pack')}, repack {plan['repack_packs']:,} (reading "
        f"{show_bytes(plan['bytes_to_read'])}), and free about {show_bytes(plan['bytes_to_free'])}; "
        f"{show_bytes(plan['unused_bytes_after'])} would stay unused"
    )
    if plan["spared_packs"]:
        terminal.line(f"{show_count(plan['spared_packs'], 'pack')} spared: a backup that runs may need them")


def _print_done(terminal: Terminal, report: dict[str, Any]) -> None:
    freed = report["bytes_freed"] - report["bytes_written"]
    terminal.line(
        f"{show_count(report['deleted_packs'], 'pack')} deleted, {report['repacked_packs']:,} repacked; "
        f"{show_bytes(max(freed, 0))} freed"
    )
    if report["plan"]["spared_packs"]:
        spared = show_count(report["plan"]["spared_packs"], "pack")
        terminal.note(f"{spared} spared: a backup that runs may need them; a later prune looks again")
    if report["repack_needs_bytes"]:
        terminal.warning(f"not all was repacked: {report['repack_stopped']}; {_lack(report)}")
        terminal.note("Next: remove other files on the medium or take a larger one: prune changes nothing more before")
    elif report["repack_stopped"]:
        terminal.note(f"not all was repacked: {report['repack_stopped']}; run prune again to go on")


def _lack(report: dict[str, Any]) -> str:
    needs, free = show_bytes(report["repack_needs_bytes"]), show_bytes(report["repack_free_bytes"])
    return f"{needs} must be free on the medium, {free} are"
