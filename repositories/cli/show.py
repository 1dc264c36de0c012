"""`syncova-repo show`: one backup with its figures and its problems."""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from repositories.cli.arguments import LOCATION_RULE, expect
from repositories.cli.spooled import print_spooled
from repositories.console.note_lines import note_lines
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import exit_code_of, open_here, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count, show_path, show_text, show_time

if TYPE_CHECKING:
    from repositories.engine.manifest.backups import Backup
    from repositories.engine.manifest.problems import ProblemCount
    from repositories.engine.manifest.root import Statistics

NAME = "show"
HELP = f"Show one backup with its problems. BACKUP is an id, any unique part of it, or latest. {LOCATION_RULE}"
EXAMPLES = ("show /mnt/backups/home latest", "show -r /mnt/backups/home 3fa2b1c0 --json")
PROBLEMS_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `show` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] BACKUP", hidden=True)] = ()
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    all_problems: Annotated[
        bool, Option("--all-problems", help=f"List all problems, not the first {PROBLEMS_SHOWN} only.")
    ] = False


def run(options: Options) -> int:
    """Print one backup; a lost inventory ends with 13."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.manifest.problems import read_problems
    from repositories.engine.process.describe import backup_fields, problem_fields
    from repositories.engine.process.label_fields import label_fields, said_now
    from repositories.engine.process.what_is_left import choose_backup

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options, most=1)
    (selector,) = expect(rest, ("BACKUP",))
    repository = open_here(location, options, terminal, in_part=True)
    backup = choose_backup(repository, selector, options.source)
    said = said_now(repository)
    with repository.begin_read() if options.all_problems else contextlib.nullcontext():
        most = None if options.all_problems else PROBLEMS_SHOWN
        found = itertools.islice(read_problems(repository.reader(), backup.root.problems), most)
        problems = map(problem_fields, found)
        listed = 0 if backup.root.problems is None else backup.root.problems.count
        if terminal.json:
            counts = [_count_fields(count) for count in backup.root.problem_counts]
            tail = {"problem_count": listed, "problem_counts": counts}
            print_spooled(terminal, {"backup": backup_fields(backup, said)}, "problems", problems, lambda: tail)
        else:
            _print(terminal, backup, problems, label_fields(backup, said))
            if most is not None and listed > most:
                terminal.line(f"  and {listed - most:,} more: --all-problems lists them")
    return exit_code_of(terminal)


def _print(terminal: Terminal, backup: "Backup", problems: Iterator[dict[str, Any]], labels: dict[str, Any]) -> None:
    root = backup.root
    figures = root.statistics
    terminal.table(
        [
            ("backup", f"{show_text(backup.id)} ({backup.short_id})"),
            ("source", show_text(root.source.name)),
            ("path", show_path(root.source.id)),
            ("host", show_text(root.source.host)),
            ("time", show_time(backup.received_ns)),
            *_copied(backup),
            ("mode", show_text(root.lineage.mode)),
            ("parent", "none" if root.lineage.parent is None else show_text(root.lineage.parent)),
            ("run", f"{show_text(root.origin.run_id)} ({show_text(root.origin.trigger)})"),
            ("tags", ", ".join(labels["tags"]) or "none"),
            *(("held", _hold(each)) for each in labels["holds"]),
            *(("note", each["text"]) for each in labels["remarks"]),
            ("holds", _holds(figures)),
            ("size", show_bytes(figures.logical_bytes)),
            ("read, stored", f"{show_bytes(figures.bytes_read)}, {show_bytes(figures.bytes_stored)}"),
            ("problems", _problems(figures)),
        ]
    )
    for line in note_lines(_notes(root.problem_counts)):
        terminal.line(f"  note: {line}")
    for problem in problems:
        terminal.line(f"  {problem['severity']}: {problem['path']}: {_reason(problem)}")


def _copied(backup: "Backup") -> list[tuple[str, str]]:
    copied = backup.copied
    if copied is None:
        return []
    lines = [("copied", f"from repository {copied.repository_id.hex()} on {show_time(copied.copied_ns)}")]
    if copied.first_repository_id is not None:
        lines.append(("made in", f"repository {copied.first_repository_id.hex()}"))
    return lines


def _hold(hold: dict[str, Any]) -> str:
    return f"{hold['reason']} ({'until released' if hold['until'] is None else 'until ' + hold['until']})"


def _notes(counts: "tuple[ProblemCount, ...]") -> dict[str, int]:
    from repositories.engine.manifest.problems import Severity

    return {count.kind: count.count for count in counts if count.severity == Severity.NOTE}


def _count_fields(count: "ProblemCount") -> dict[str, Any]:
    from repositories.engine.process.describe import severity_name

    return {"severity": severity_name(count.severity), "kind": show_text(count.kind), "count": count.count}


def _reason(problem: dict[str, Any]) -> str:
    kind, detail = problem["kind"], problem["detail"]
    # "permission" says nothing that "Permission denied" does not.
    return detail if detail.lower().startswith(kind) else f"{kind} {detail}".rstrip()


def _problems(figures: "Statistics") -> str:
    counts = show_count(figures.warnings, "warning"), show_count(figures.notes, "note")
    return ", ".join((f"{figures.skipped:,} skipped", *counts))


def _holds(figures: "Statistics") -> str:
    counts = (
        show_count(figures.files, "file"),
        show_count(figures.directories, "directory"),
        show_count(figures.links, "link"),
        show_count(figures.others, "other"),
    )
    return ", ".join(counts)
