"""`./syncova ctl repository check | prune | forget | copy`."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from jobs.ctl.api import Api, Json
from jobs.ctl.keep_options import KeepOptions, keep_order
from jobs.ctl.names import find_repository
from jobs.ctl.operations import OnRepository, planned, print_forget_plan, print_prune_plan, queue, tell
from jobs.ctl.questions import confirm
from jobs.ctl.schedule_options import seconds_of
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.options import OutputOptions
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_count, show_text


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(OnRepository):
    """What `check` takes."""

    read_data: Annotated[bool, Option("--read-data", help="Read every pack, not only what lists them.")] = False


class Check:
    """Queues a check."""

    NAME = "check"
    HELP = "Check whether all that the backups of a repository need is there and unharmed."
    EXAMPLES = ("check vault --wait", "check vault --read-data")
    Options = CheckOptions

    @staticmethod
    def run(options: CheckOptions) -> int:
        """Queue it; with --wait say what it found."""
        terminal, api = terminal_of(options), Api(find_server())
        run = queue(api, options.repository, "check", {"read_data": options.read_data})
        return tell(api, terminal, run, wait=options.wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneOptions(OnRepository):
    """What `prune` takes."""

    dry_run: Annotated[bool, Option("--dry-run", help="Print the plan, change nothing.")] = False
    yes: Annotated[bool, Option("--yes", "-y", help="Don't ask.")] = False
    max_unused: Annotated[
        float, Option("--max-unused", metavar="PERCENT", min=0, max=100, help="So much may stay unused.")
    ] = 10.0
    max_duration: Annotated[
        str | None, Option("--max-duration", metavar="TIME", help="Stop packing and waiting then: 90min, 2h.")
    ] = None


class Prune:
    """Plans a prune, asks, and queues it."""

    NAME = "prune"
    HELP = "Give back the room of deleted backups: a first run makes the plan, and once you agree a second one does it."
    EXAMPLES = ("prune vault --dry-run", "prune vault --yes --wait")
    Options = PruneOptions

    @staticmethod
    def run(options: PruneOptions) -> int:
        """Plan, agree, prune."""
        terminal, api = terminal_of(options), Api(find_server())
        order: Json = {"max_unused_percent": options.max_unused}
        if options.max_duration is not None:
            order["max_seconds"] = seconds_of(options.max_duration, "--max-duration")
        plan = planned(api, terminal, queue(api, options.repository, "prune", order | {"dry_run": True}))
        if plan is None:
            return exits.FAILED
        print_prune_plan(terminal, plan["result"])
        if options.dry_run:
            terminal.document(plan)
            return exits.DONE
        if not options.yes:
            confirm(f"Prune {show_text(options.repository)}?", "--yes")
        run = queue(api, options.repository, "prune", order | {"dry_run": False})
        return tell(api, terminal, run, wait=options.wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetOptions(KeepOptions):
    """What `forget` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    backups: Annotated[tuple[str, ...], Argument(metavar="[BACKUP]…", help="Ids, or parts of ids.")] = ()
    zone: Annotated[str, Option("--zone", metavar="ZONE", help="Whose days, weeks and months: Europe/Berlin.")] = "UTC"
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    tag: Annotated[str | None, Option("--tag", metavar="TAG", help="Only backups with this tag.")] = None
    allow_last: Annotated[bool, Option("--allow-last", help="Also the last good backup of a source.")] = False
    reason: Annotated[str, Option("--reason", metavar="TEXT", help="Kept with the deletion, and shown.")] = ""
    dry_run: Annotated[bool, Option("--dry-run", help="Print the plan, delete nothing.")] = False
    yes: Annotated[bool, Option("--yes", "-y", help="Don't ask.")] = False
    wait: Annotated[bool, Option("--wait", help="Wait for its end and exit as the run ended.")] = False


class Forget:
    """Plans which backups go, asks, and queues their deletion."""

    NAME = "forget"
    HELP = (
        "Delete backups: those named, or of each source those that no keep rule keeps. A first run makes the plan, and "
        "once you agree a second one deletes. Prune gives back their room."
    )
    EXAMPLES = (
        "forget vault --keep-daily 7 --keep-weekly 5 --zone Europe/Berlin --dry-run",
        "forget vault 3fa2b1c0 --yes --wait",
    )
    Options = ForgetOptions

    @staticmethod
    def run(options: ForgetOptions) -> int:
        """Plan, agree, delete."""
        terminal, api, order = terminal_of(options), Api(find_server()), _rules(options)
        plan = planned(api, terminal, queue(api, options.repository, "forget", order | {"dry_run": True}))
        if plan is None:
            return exits.FAILED
        print_forget_plan(terminal, plan["result"], plan["id"])
        count = plan["result"]["to_delete"] + plan["result"]["lost_manifests"]
        if options.dry_run or not count:
            terminal.document(plan)
            return exits.DONE
        if not options.yes:
            confirm(f"Delete {show_count(count, 'backup')} of {show_text(options.repository)}?", "--yes")
        run = queue(api, options.repository, "forget", order | {"dry_run": False})
        return tell(api, terminal, run, wait=options.wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOptions(OutputOptions):
    """What `copy` takes."""

    origin: Annotated[str, Argument(metavar="FROM", help="The repository to read, by name or id.")]
    repository: Annotated[str, Argument(metavar="TO", help="The repository to write, by name or id.")]
    backups: Annotated[tuple[str, ...], Argument(metavar="[BACKUP]…", help="Ids or parts of ids; none: all.")] = ()
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    dry_run: Annotated[bool, Option("--dry-run", help="Tell what would be copied.")] = False
    wait: Annotated[bool, Option("--wait", help="Wait for its end and exit as the run ended.")] = False


class Copy:
    """Queues a copy."""

    NAME = "copy"
    HELP = "Copy backups of one repository into another one; what is there already is not copied again."
    EXAMPLES = ("copy vault offsite --wait", "copy vault offsite latest --source /home")
    Options = CopyOptions

    @staticmethod
    def run(options: CopyOptions) -> int:
        """Queue it; with --wait say how it ended."""
        terminal, api = terminal_of(options), Api(find_server())
        order: Json = {"backups": list(options.backups), "source": options.source, "dry_run": options.dry_run}
        order["from_repository_id"] = find_repository(api, options.origin)["id"]
        return tell(api, terminal, queue(api, options.repository, "copy", order), wait=options.wait)


def _rules(options: ForgetOptions) -> Json:
    return {
        "backups": list(options.backups),
        **keep_order(options),
        "zone": options.zone,
        "source": options.source,
        "tag": options.tag,
        "allow_last": options.allow_last,
        "reason": options.reason,
    }
