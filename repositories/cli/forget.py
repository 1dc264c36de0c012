"""`syncova-repo forget`: delete backups by name or by keep rules."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from repositories.cli.arguments import LOCATION_RULE
from repositories.cli.durations import parse_duration
from repositories.cli.naming import split_ids
from repositories.cli.reserve import tell_of_reserve
from repositories.cli.undelete import PRUNING
from repositories.console import exits, keep_rules
from repositories.console.confirming import confirm
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import open_here
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_count, show_text, show_time

if TYPE_CHECKING:
    from repositories.engine.forgetting import ForgetPlan, ForgetRequest, ForgetResult

NAME = "forget"
HELP = (
    "Delete backups: those named, or of each source those that no keep rule keeps. Prints the plan with a reason for "
    "each backup, then asks; elsewhere than on a terminal --yes is needed. undelete brings them back until the next "
    f"prune, which frees the room. {LOCATION_RULE}"
)
EXAMPLES = (
    "forget /mnt/backups/home --keep-daily 7 --keep-weekly 5 --keep-monthly 12 --zone Europe/Berlin --dry-run",
    "forget -r /mnt/backups/home --source laptop:/home --keep-last 3 --keep-tag yearly --yes --json",
    "forget /mnt/backups/home 3fa2b1c0 9d01aa37",
)
_FREED = "prune frees the room; until then undelete brings them back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `forget` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] [BACKUP…]", hidden=True)] = ()
    keep_last: keep_rules.Last = 0
    keep_hourly: keep_rules.Hourly = 0
    keep_daily: keep_rules.Daily = 0
    keep_weekly: keep_rules.Weekly = 0
    keep_monthly: keep_rules.Monthly = 0
    keep_yearly: keep_rules.Yearly = 0
    keep_within: keep_rules.Within = None
    keep_tag: keep_rules.Tag = ()
    zone: Annotated[
        str, Option("--zone", metavar="ZONE", help="Whose hours, days, weeks, months and years: Europe/Berlin.")
    ] = "UTC"
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    tag: Annotated[str | None, Option("--tag", metavar="TAG", help="Only backups with this tag.")] = None
    dry_run: Annotated[bool, Option("--dry-run", help="Print the plan, delete nothing.")] = False
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False
    allow_last: Annotated[
        bool, Option("--allow-last", help="Also the last good backup of a source, or all that is left of one.")
    ] = False
    reason: Annotated[str, Option("--reason", metavar="TEXT", help="Kept with the deletion, and shown.")] = ""


def run(options: Options) -> int:
    """Print the plan, ask, delete, and tell what was really deleted."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.forgetting import forget, plan
    from repositories.engine.process.forget_fields import forget_document

    terminal = terminal_of(options)
    location, ids = split_ids(options.words, options)
    request = _request(options, ids)
    repository = open_here(location, options, terminal, writes=not options.dry_run)
    planned = plan(repository, request)
    _print_plan(terminal, planned)
    result = None
    if not options.dry_run:
        if count := len(planned.going) + len(planned.lost):
            confirm(f"Delete {show_count(count, 'backup')}?", terminal, yes=options.yes)
        result = forget(repository, planned)
        _print_result(terminal, result)
    document = forget_document(planned, result)
    tell_of_reserve(terminal, document)
    terminal.document(document)
    return exits.SKIPPED if document["spared"] or document["reserve_gone"] else exits.DONE


def _request(options: Options, ids: list[str]) -> "ForgetRequest":
    from repositories.engine.forgetting import ForgetRequest
    from repositories.engine.retention.policy import SECOND_NS, KeepRules

    rules = KeepRules(
        last=options.keep_last,
        hourly=options.keep_hourly,
        daily=options.keep_daily,
        weekly=options.keep_weekly,
        monthly=options.keep_monthly,
        yearly=options.keep_yearly,
        within_ns=0 if options.keep_within is None else parse_duration(options.keep_within) * SECOND_NS,
        tags=frozenset(options.keep_tag),
        zone=options.zone,
    )
    return ForgetRequest(
        ids=tuple(ids),
        rules=rules,
        source=options.source,
        tag=options.tag,
        allow_last=options.allow_last,
        reason=options.reason,
    )


def _print_plan(terminal: Terminal, plan: "ForgetPlan") -> None:
    from repositories.engine.forgetting.reasons import reason_text

    if plan.judged:
        terminal.columns(
            ("PLAN", "ID", "TIME", "SOURCE", "WHY"),
            (
                (
                    "keep" if each.verdict.keep else "delete",
                    each.backup.short_id,
                    show_time(each.backup.received_ns),
                    show_text(each.backup.source_name),
                    "; ".join(map(reason_text, each.verdict.reasons)),
                )
                for each in plan.judged
            ),
        )
    for each in plan.lost:
        terminal.line(f"delete  manifests/{each}, which nobody can read: its backup is lost")
    for warning in plan.warnings:
        terminal.warning(warning)
    terminal.line(f"{len(plan.judged) - len(plan.going):,} to keep, {len(plan.going) + len(plan.lost):,} to delete")


def _print_result(terminal: Terminal, result: "ForgetResult") -> None:
    from repositories.engine.forgetting.reasons import reason_text

    for each in result.spared:
        why = "; ".join(map(reason_text, each.reasons))
        terminal.warning(f"backup {each.backup.short_id} stays after all: {why}")
    if result.uncertain:
        terminal.warning(PRUNING)
    if result.already:
        terminal.note(f"{show_count(result.already, 'backup')} had been deleted meanwhile by somebody else")
    if count := len(result.deleted) + len(result.lost):
        freed = _FREED if result.deleted else "prune frees the room"
        terminal.line(f"{show_count(count, 'backup')} deleted; nothing is freed yet: {freed}")
        if result.lost and result.deleted:
            terminal.note("undelete brings back none that cannot be read")
    else:
        terminal.line("nothing deleted")
