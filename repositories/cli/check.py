"""`syncova-repo check`: whether everything that the backups need is there and unharmed."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from repositories.cli.arguments import LOCATION_RULE, LongLocationOptions, expect
from repositories.cli.durations import parse_duration
from repositories.console.engine_run import run_engine
from repositories.console.failures import CommandError
from repositories.console.options import Option
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count, show_text
from repositories.engine.process.requests import CheckOrder, Request
from syncova_project import clock

NAME = "check"
HELP = (
    "Check a repository. With --read-data every byte is read, with --read-data=10% a part: what was read longest ago. "
    f"Results are remembered. Damage ends with exit code 13. {LOCATION_RULE}"
)
EXAMPLES = (
    "check /mnt/backups/home",
    "check -r /mnt/backups/home --read-data --progress json",
    "check -r /mnt/backups/home --read-data=10% --max-duration 30m",
)
_REFUSING = {
    "rollback": "nothing is written into a state that is earlier than what was seen, until that is confirmed",
    "inventory": "nothing is written while the inventory is lost",
    "sweep": "nothing is written until a repair has answered the lost record of a prune",
}
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?) ?%", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LongLocationOptions):
    """What `check` takes."""

    read_data: Annotated[
        bool, Option("--read-data", help="Read and verify data, not structure only; =10% for a part of it.")
    ] = False
    read_data_subset: Annotated[
        str | None,
        Option("--read-data-subset", metavar="N%", help="Read this part of all data, the longest unread first."),
    ] = None
    max_duration: Annotated[
        str | None, Option("--max-duration", metavar="TIME", help="Begin to read no more data after this: 30m, 2h.")
    ] = None
    accept_rollback: Annotated[
        bool,
        Option("--accept-rollback", help="What is there now is as it should be, though more was seen here before."),
    ] = False


def run(options: Options) -> int:
    """Check in an engine child and print what was found."""
    terminal = terminal_of(options)
    order = _order(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    view = choose_view(options.progress, terminal, clock.monotonic)
    opened = msgspec.structs.replace(access(location, options, terminal), accept_rollback=options.accept_rollback)
    request = Request(operation="check", repository=opened, check=order)
    report = run_engine(request, view, terminal).result
    print_report(terminal, report)
    terminal.document(report)
    return int(report["exit_code"])


def _order(options: Options) -> CheckOrder:
    subset = options.read_data_subset
    if options.read_data and subset is not None:
        raise CommandError("--read-data is all, --read-data-subset a part", hint="give one of them")
    if options.max_duration is not None and not (options.read_data or subset):
        raise CommandError("--max-duration bounds the reading of data", hint="add --read-data")
    return CheckOrder(
        read_data=options.read_data or subset is not None,
        read_percent=100.0 if subset is None else _percent(subset),
        max_seconds=None if options.max_duration is None else parse_duration(options.max_duration),
    )


def _percent(text: str) -> float:
    match = _PERCENT.fullmatch(text.strip())
    if match is None or not 0 < float(match[1]) <= 100:
        raise CommandError(f"{show_text(text)} is no part of the data", hint="write it as 10%: above 0%, up to 100%")
    return float(match[1])


def print_report(terminal: Terminal, report: dict[str, Any]) -> None:
    """Print what a check found, for people."""
    for problem in report["problems"]:
        terminal.line(f"{problem['kind']}: {problem['object']}: {problem['message']}")
    if report["problem_count"] > len(report["problems"]):
        terminal.line(f"and {report['problem_count'] - len(report['problems']):,} more")
    print_hurt(terminal, report["hurt_backups"])
    verdict = "no problems found" if report["ok"] else f"{show_count(report['problem_count'], 'problem')} found"
    depth = (
        f"{show_bytes(report['bytes_read'])} read" if report["read_data"] else "structure only (--read-data for all)"
    )
    terminal.line(
        f"{verdict} in {show_count(report['backups'], 'backup')} and {show_count(report['packs'], 'pack')}; {depth}"
    )
    print_proof(terminal, report)
    _print_unread(terminal, report)
    _print_lone(terminal, report)
    _print_keys(terminal, report)
    _print_foreign(terminal, report)
    _print_spare(terminal, report)
    _print_notes(terminal, report)


def print_hurt(terminal: Terminal, backups: list[dict[str, Any]]) -> None:
    """Print the backups that lack something, each with its first paths."""
    for hurt in backups:
        terminal.line(f"backup {hurt['short_id']} of {hurt['source']} lacks {show_count(hurt['count'], 'object')}:")
        for path in hurt["paths"]:
            terminal.line(f"  {path}")


def print_proof(terminal: Terminal, report: dict[str, Any], *, read_before: bool = False) -> None:
    """Print how much is proven, and what is not; `read_before`: what this check did not read was read just before."""
    proof = report["proof"]
    if proof["unread_packs"] and not read_before:
        why = " (the time was over)" if report["stopped"] else ""
        left = f"{show_count(proof['unread_packs'], 'pack')} ({show_bytes(proof['unread_bytes'])})"
        terminal.line(f"not read now: {left}{why}")
    if proof["never_verified_packs"]:
        never = f"{show_count(proof['never_verified_packs'], 'pack')} ({show_bytes(proof['never_verified_bytes'])})"
        terminal.line(f"never read yet: {never}")
    if proof["verified_packs"]:
        share = 100 * proof["verified_bytes"] / max(proof["bytes"], 1)
        good = f"{show_bytes(proof['verified_bytes'])} of {show_bytes(proof['bytes'])} ({int(share * 10) / 10:g}%)"
        terminal.line(f"proven good: {good}, the oldest part of it read at {proof['oldest_verified_at']}")


def _print_unread(terminal: Terminal, report: dict[str, Any]) -> None:
    """Print what was not looked at since it is in no index, or came too late."""
    if report["unreferenced_packs"]:
        held = f"{show_count(report['unreferenced_packs'], 'pack')} ({show_bytes(report['unreferenced_bytes'])})"
        terminal.line(f"not read: {held} in no index: being written, or broken off (then the next prune removes them)")
    if report["late_backups"]:
        terminal.line(
            f"not looked at: {show_count(report['late_backups'], 'backup')} made during the check; check again"
        )


def _print_lone(terminal: Terminal, report: dict[str, Any]) -> None:
    if report["half_done"]:
        objects = show_count(report["half_done"], "object")
        terminal.note(f"{objects} in one copy: a process died between the two; the next prune writes the other")
    if report["left_over"]:
        objects = show_count(report["left_over"], "object")
        left = "left by a process that was given up, or of keys from before a rotation"
        terminal.note(f"{objects} not whole in two copies mean nothing: {left}; the next prune removes them")


def _print_keys(terminal: Terminal, report: dict[str, Any]) -> None:
    """Print what ended keys have sealed."""
    if report["retired_packs"] or report["retired_objects"]:
        packs = f"{show_count(report['retired_packs'], 'pack')} ({show_bytes(report['retired_bytes'])})"
        held = f"{packs} and {show_count(report['retired_objects'], 'small object')}"
        terminal.note(f"{held} are sealed by keys from before a rotation: whole, but readable with an ended password")
        if report["retired_packs"]:
            terminal.note("prunes seal packs anew over time: syncova-repo prune; info shows how much is left")
    if report["disowned_objects"]:
        objects = show_count(report["disowned_objects"], "object")
        terminal.note(
            f"{objects} do not count: sealed by an ended key after it had ended, by a command that had begun before, "
            "or by someone who used an old password"
        )
    if report["passed_by_objects"]:
        objects = show_count(report["passed_by_objects"], "object")
        terminal.note(
            f"{objects} do not count: left by work that was under way when the keys were rotated, and refused; prunes "
            "remove what nobody needs of it"
        )


def _print_foreign(terminal: Terminal, report: dict[str, Any]) -> None:
    """Print what lies there and is read by nobody."""
    if report["aside_objects"]:
        held = f"{show_count(report['aside_objects'], 'object')} ({show_bytes(report['aside_bytes'])})"
        terminal.note(f"aside from a repair, unread: {held}; when all is well: syncova-repo repair --remove-aside")
    if report["strays"]:
        files = f"{show_count(report['strays'], 'file')} (the first: {report['stray_names'][0]})"
        terminal.note(f"none of Syncova's: {files}; nothing reads that; move it away by hand")


def _print_spare(terminal: Terminal, report: dict[str, Any]) -> None:
    if report["unused_packs"]:
        held = f"{show_count(report['unused_packs'], 'pack')} ({show_bytes(report['unused_bytes'])})"
        terminal.line(f"of no use to any backup: {held}: broken off, not finished, deleted, or lost manifests")
    if report["gone_packs"]:
        held = show_count(report["gone_packs"], "pack")
        terminal.note(f"{held} gone and not counted: other packs hold all of the content; a prune tidies that up")
    if damaged := report["replaced_packs"] - report["gone_packs"]:
        held = show_count(damaged, "damaged pack")
        terminal.note(f"{held}, no problem: other packs hold all of the content; a prune tidies that up")


def _print_notes(terminal: Terminal, report: dict[str, Any]) -> None:
    if report["healed_packs"]:
        terminal.note(f"{show_count(report['healed_packs'], 'pack')} known as damaged can be read again")
    if report["read_twice"]:
        packs = show_count(report["read_twice"], "pack")
        terminal.note(f"{packs} could be read at the second try only: look at cables, memory and network")
    if report["void_manifests"]:
        count = report["void_manifests"]
        counts, were = ("counts as no backup", "it was") if count == 1 else ("count as no backups", "they were")
        terminal.note(
            f"{show_count(count, 'manifest')} {counts}: a prune had decided before {were} there (written too late, or "
            "brought back since), and content may be gone: repair --adopt all reads it all, and takes what is whole"
        )
    if report["reserve"] != "present":
        state = report["reserve"]
        terminal.note(
            f"the reserve is {state}: a full medium might not be cleaned; with room for it repair or prune put it back"
        )
    _print_memory(terminal, report)
    if report["hint"]:
        terminal.note(f"Next: {report['hint']}")


def _print_memory(terminal: Terminal, report: dict[str, Any]) -> None:
    kinds = {problem["kind"] for problem in report["problems"]}
    if not report["remembered"] and kinds & _REFUSING.keys():
        why = next(_REFUSING[kind] for kind in _REFUSING if kind in kinds)
        terminal.note(f"the result was not remembered: {why}")
    elif not report["remembered"]:
        unknown = "" if report["ok"] else ": without --read-data the next check will not know of damage found in packs"
        terminal.note(f"the result could not be remembered, nothing can be written here{unknown}")
