"""`./syncova ctl repository freeze | unfreeze | journal | limit`: what holds the runs of a repository."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, Option

from jobs.ctl import shapes
from jobs.ctl.api import Api, Json
from jobs.ctl.names import find_repository
from jobs.ctl.patience import looks
from jobs.ctl.repository_verbs import trouble
from jobs.ctl.server import find_server
from repositories.console import exits
from repositories.console.failures import CommandError, Failure, ReportedFailureError
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_text

_SEE = "see to its medium and its worker, then run it again; nothing was changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeOptions(OutputOptions):
    """What `freeze` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    reason: Annotated[str | None, Option("--reason", metavar="TEXT", help="Why; shown to all who wait.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfreezeOptions(OutputOptions):
    """What `unfreeze` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    adopt: Annotated[bool, Option("--adopt", help="The medium that is there now is the right one.")] = False
    wait: Annotated[int, Option("--wait", metavar="SECONDS", min=0, help="How long to wait for a look at it.")] = 30


class Freeze:
    """Freezes a repository."""

    NAME = "freeze"
    HELP = "Freeze a repository: no backup starts on it any more, what runs goes on. Restores stay possible."
    EXAMPLES = ("freeze vault --reason 'the disk makes noises'",)
    Options = FreezeOptions

    @staticmethod
    def run(options: FreezeOptions) -> int:
        """Freeze it; the same reason twice is one freeze."""
        if options.reason is None:
            raise CommandError("--reason is missing", hint="say why: everybody who waits will read it")
        return _change(options, options.repository, "freeze", {"reason": options.reason})


class Unfreeze:
    """Clears every freeze of a repository."""

    NAME = "unfreeze"
    HELP = (
        "Clear every freeze of a repository, so that waiting runs may start. A worker first looks which repository is "
        "there now."
    )
    EXAMPLES = ("unfreeze vault", "unfreeze vault --adopt")
    Options = UnfreezeOptions

    @staticmethod
    def run(options: UnfreezeOptions) -> int:
        """Look, then clear them; repeating that is harmless."""
        api = Api(find_server())
        seen = _look(api, find_repository(api, options.repository)["id"], options.wait)
        if options.adopt and not _is_seen(seen):
            raise ReportedFailureError(Failure("REPOSITORY_NOT_LOOKED_AT", _unseen(seen), _SEE))
        code = _change(
            options, options.repository, "unfreeze", {"adopt_observed_id": options.adopt and seen["swapped"]}
        )
        _warn(terminal_of(options), seen, adopts=options.adopt)
        return code


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions(OutputOptions):
    """What `journal` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    limit: Annotated[int, Option("--limit", metavar="N", min=1, max=1000, help="At most so many, newest first.")] = 50


class Journal:
    """Tells what froze a repository, and who cleared it."""

    NAME = "journal"
    HELP = "Show what froze a repository, when and why, by which run, and who cleared it; newest first."
    EXAMPLES = ("journal vault", "journal vault --json")
    Options = JournalOptions

    @staticmethod
    def run(options: JournalOptions) -> int:
        """Print the journal."""
        terminal, api = terminal_of(options), Api(find_server())
        repository = find_repository(api, options.repository)
        answer = api.get(f"repositories/{repository['id']}/freezes", {"limit": options.limit})
        if answer["freezes"]:
            terminal.columns(("FROZEN", "BY", "RUN", "CLEARED", "REASON"), map(_journal_row, answer["freezes"]))
        else:
            terminal.line(f"{show_text(repository['name'])} was never frozen")
        terminal.document(answer)
        return exits.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions(OutputOptions):
    """What `limit` takes."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    runs: Annotated[int | None, Option("--runs", metavar="N", min=1, max=1000, help="So many may write at once.")] = (
        None
    )
    serial: Annotated[bool, Option("--serial", help="One chain of attempts after the other, whatever --runs says.")] = (
        False
    )
    no_serial: Annotated[bool, Option("--no-serial", help="As many as --runs says.")] = False


class Limit:
    """Says how many runs may write to a repository at once."""

    NAME = "limit"
    HELP = (
        "Say how many runs may write to a repository at once. With --serial nothing else starts on it while a run, or "
        "the retry of one that had started, is not through. Restores and checks are not held."
    )
    EXAMPLES = ("limit vault --runs 2", "limit vault --serial")
    Options = LimitOptions

    @staticmethod
    def run(options: LimitOptions) -> int:
        """Change what is named and leave the rest as it is."""
        if options.serial and options.no_serial:
            raise CommandError("--serial and --no-serial contradict each other", hint="give one of them")
        if options.runs is None and not options.serial and not options.no_serial:
            raise CommandError("nothing to change", hint="give --runs N, --serial or --no-serial")
        terminal, api = terminal_of(options), Api(find_server())
        known = find_repository(api, options.repository)
        serial = options.serial or (known["serial_gate"] and not options.no_serial)
        wanted = {"max_concurrent_runs": options.runs or known["max_concurrent_runs"], "serial_gate": serial}
        shown = api.put(f"repositories/{known['id']}/limits", wanted)
        runs = "1, one chain after the other" if shown["serial_gate"] else str(shown["max_concurrent_runs"])
        terminal.table([("name", show_text(shown["name"])), ("runs at once", runs)])
        terminal.document(shown)
        return exits.DONE


def _journal_row(row: Json) -> tuple[str, ...]:
    cleared = f"{shapes.exact(row['cleared_at'])} by {show_text(row['cleared_by'])}" if row["cleared_at"] else "open"
    run = row["run"] or shapes.NOTHING
    return shapes.exact(row["frozen_at"]), show_text(row["frozen_by"]), run, cleared, show_text(row["reason"])


def _change(options: OutputOptions, name: str, action: str, body: Mapping[str, Any]) -> int:
    terminal, api = terminal_of(options), Api(find_server())
    shown = api.post(f"repositories/{find_repository(api, name)['id']}/{action}", body)
    takes = "yes" if shown["accepts_backups"] else f"no: {show_text(shown['refusal_reason'])}"
    terminal.table([("name", show_text(shown["name"])), ("takes backups", takes)])
    terminal.document(shown)
    return exits.DONE


def _look(api: Api, repository_id: str, seconds: int) -> Json:
    """Return the repository once a worker has looked, or as it is when the time is over."""
    shown = api.post(f"repositories/{repository_id}/look")
    for _ in looks(seconds):
        shown = api.get(f"repositories/{repository_id}")
        if not shown["look_pending"]:
            break
    return shown


def _is_seen(shown: Json) -> bool:
    return not shown["look_pending"] and shown["trouble"] is None


def _unseen(shown: Json) -> str:
    """Say why it is not known what is there now."""
    if shown["look_pending"]:
        why = f"no worker of group {show_text(shown['worker_group'])} has looked what is there now"
    else:
        why = trouble(shown)
    seen, at = shapes.text(shown["observed_repository_id"]), shapes.exact(shown["observed_at"])
    return f"{show_text(shown['name'])}: {why}; when it was last opened ({at}) it was {seen}"


def _warn(terminal: Terminal, seen: Json, *, adopts: bool) -> None:
    adopted, there = shapes.text(seen["repository_id"]), shapes.text(seen["observed_repository_id"])
    if not _is_seen(seen):
        terminal.warning(_unseen(seen))
    elif adopts and not seen["swapped"]:
        terminal.note(f"nothing to adopt: its medium is {adopted}, as before")
    elif seen["swapped"] and not adopts:
        terminal.warning(
            f"its medium is {there} now, adopted was {adopted}: the next run freezes it again, "
            "until that medium is back or this one is adopted (--adopt)"
        )
