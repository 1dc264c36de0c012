"""`./syncova ctl repository plan | unplan | plans`: when a repository is checked, cleared of backups and pruned."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument, Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.keep_options import KeepOptions, keep_order
from jobs.ctl.names import find_repository
from jobs.ctl.schedule_options import schedule_of
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_text

KINDS = ("check", "prune", "forget")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansOptions(OutputOptions):
    """What `plans` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnplanOptions(OutputOptions):
    """What `unplan` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    kind: Annotated[str, Argument(metavar="|".join(KINDS), help="Which upkeep.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions(KeepOptions):
    """What `plan` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    kind: Annotated[str, Argument(metavar="|".join(KINDS), help="Which upkeep.")]
    daily: Annotated[str | None, Option("--daily", metavar="HH:MM", help="Every day at this time.")] = None
    every: Annotated[str | None, Option("--every", metavar="TIME", help="Every 12h, 7d.")] = None
    weekly: Annotated[str | None, Option("--weekly", metavar="DAYS@HH:MM", help="On days of the week: sun@04:00.")] = (
        None
    )
    monthly: Annotated[
        str | None, Option("--monthly", metavar="DAYS@HH:MM", help="On days of the month: 1,last@04:00.")
    ] = None
    time_zone: Annotated[
        str | None, Option("--time-zone", metavar="ZONE", help="Of the times, and of the days that are kept; else UTC.")
    ] = None
    read_data: Annotated[bool, Option("--read-data", help="A check reads every pack.")] = False
    max_unused: Annotated[
        float | None, Option("--max-unused", metavar="PERCENT", min=0, max=100, help="A prune leaves so much unused.")
    ] = None


class Plan:
    """Plans one kind of upkeep."""

    NAME = "plan"
    HELP = (
        "Plan when a repository is checked, pruned, or cleared of backups that no keep rule keeps. Replaces its plan."
    )
    EXAMPLES = (
        "plan vault forget --daily 05:00 --keep-daily 7 --keep-weekly 5 --time-zone Europe/Berlin",
        "plan vault prune --weekly sun@04:00",
        "plan vault check --monthly 1@03:00 --read-data",
    )
    Options = PlanOptions

    @staticmethod
    def run(options: PlanOptions) -> int:
        """Set the plan and say when it is due."""
        terminal, api = terminal_of(options), Api(find_server())
        kinds = ("daily", "every", "weekly", "monthly")
        schedule = schedule_of({kind: getattr(options, kind) for kind in kinds}, options.time_zone)
        if schedule["type"] == "manual":
            raise CommandError("nothing says when", hint="give --daily, --every, --weekly or --monthly")
        address = _address(api, options.repository, options.kind)
        made = api.put(address, {"schedule": schedule, "order": _order(options)})
        _tell(terminal, [made])
        terminal.document(made)
        return exits.DONE


class Unplan:
    """Ends a plan."""

    NAME = "unplan"
    HELP = "End the plan of a kind of upkeep; what it has queued goes on."
    EXAMPLES = ("unplan vault prune",)
    Options = UnplanOptions

    @staticmethod
    def run(options: UnplanOptions) -> int:
        """End it."""
        terminal, api = terminal_of(options), Api(find_server())
        api.delete(_address(api, options.repository, options.kind))
        terminal.line(f"{options.kind} of {show_text(options.repository)} is planned no more")
        terminal.document({"kind": options.kind, "planned": False})
        return exits.DONE


class Plans:
    """Lists the plans of a repository."""

    NAME = "plans"
    HELP = "List when a repository is checked, cleared of backups and pruned."
    EXAMPLES = ("plans vault",)
    Options = PlansOptions

    @staticmethod
    def run(options: PlansOptions) -> int:
        """Print them."""
        terminal, api = terminal_of(options), Api(find_server())
        answer = api.get(f"repositories/{find_repository(api, options.repository)['id']}/upkeep")
        _tell(terminal, answer["upkeep"])
        terminal.document(answer)
        return exits.DONE


def _address(api: Api, repository: str, kind: str) -> str:
    if kind not in KINDS:
        raise CommandError(f"{show_text(kind)} is no upkeep", hint=f"give one of {', '.join(KINDS)}")
    return f"repositories/{find_repository(api, repository)['id']}/upkeep/{kind}"


def _order(options: PlanOptions) -> Json:
    """Return what the runs are asked; options of another kind are sent too, so that the server refuses them by name."""
    order = keep_order(options)
    if options.kind == "forget" and options.time_zone is not None:
        order["zone"] = options.time_zone
    if options.max_unused is not None:
        order["max_unused_percent"] = options.max_unused
    return order | ({"read_data": True} if options.read_data else {})


def _tell(terminal: Terminal, plans: list[Json]) -> None:
    rows = [
        (
            one["kind"],
            show_text(one["description"]),
            shapes.moment(one["next_run_at"]),
            show_text(one["state_reason"] or f"{len(one['decisions'])} decisions"),
        )
        for one in plans
    ]
    if rows:
        terminal.columns(("UPKEEP", "RUNS", "NEXT RUN", "NOT RUN"), rows)
    else:
        terminal.line("no upkeep is planned")
