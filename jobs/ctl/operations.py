"""Runs that `ctl` asks for on a repository: queued once, waited for, and their plan as people read it.

Owns the order "plan, agree, do". Words about a run's end are jobs.ctl.run_page's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, Option

from jobs.ctl.api import Api, Json
from jobs.ctl.names import find_repository
from jobs.ctl.run_end import await_end, exit_code_of
from jobs.ctl.run_page import tell_run
from repositories.console import exits
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal
from repositories.engine.display import show_bytes, show_count, show_text


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRepository(OutputOptions):
    """A run on one repository."""

    repository: Annotated[str, Argument(metavar="REPOSITORY", help="Its name or id.")]
    wait: Annotated[bool, Option("--wait", help="Wait for its end and exit as the run ended.")] = False


def queue(api: Api, repository: str, action: str, body: Mapping[str, Any]) -> Json:
    """Queue a run on the repository with this name or id."""
    return api.create(f"repositories/{find_repository(api, repository)['id']}/{action}", body)


def tell(api: Api, terminal: Terminal, run: Json, *, wait: bool) -> int:
    """Tell of a queued run, and with `wait` of its end, by its exit code."""
    if wait:
        terminal.note(f"run {run['id']} is queued")
        run = await_end(api, run, terminal)
    tell_run(terminal, run)
    return exit_code_of(run) if wait else exits.DONE


def planned(api: Api, terminal: Terminal, run: Json) -> Json | None:
    """Wait for a dry run and return it; None once its failure has been told."""
    terminal.note(f"run {run['id']} makes the plan")
    ended = await_end(api, run, terminal)
    if ended["state"] == "succeeded":
        return ended
    tell_run(terminal, ended)
    return None


def print_prune_plan(terminal: Terminal, result: Json) -> None:
    """Say what a prune would do."""
    plan = result["plan"]
    unused = show_bytes(plan["unused_bytes"])
    terminal.line(f"{show_count(plan['packs'], 'pack')}, {show_bytes(plan['bytes'])}; {unused} unused")
    terminal.line(
        f"would delete {show_count(plan['delete_packs'], 'pack')}, repack {plan['repack_packs']:,} (reading "
        f"{show_bytes(plan['bytes_to_read'])}), and free about {show_bytes(plan['bytes_to_free'])}"
    )


def print_deletion_plan(terminal: Terminal, result: Json) -> None:
    """Say what a restore would delete."""
    if result["deletion_refused"]:
        terminal.warning(f"nothing would be deleted: {show_text(result['deletion_refused'])}")
        return
    count, size = show_count(result["deletion_deleted"], "object"), show_bytes(result["deletion_deleted_bytes"])
    terminal.line(f"would delete {count}, {size}, of {show_text(result['target'])}")
    for each in result["deletion_paths"]:
        inside = f" (with {each['objects'] - 1:,} in it)" if each["objects"] > 1 else ""
        terminal.line(f"  {show_text(each['path'])}{inside}")
    if result["deletion_spared"]:
        terminal.line(f"{show_count(result['deletion_spared'], 'object')} not in the backup would stay: see the log")


def print_forget_plan(terminal: Terminal, result: Json, run_id: str) -> None:
    """Say which backups would be deleted and why each stays or goes."""
    rows = [
        (
            "keep" if each["keep"] else "delete",
            show_text(each["short_id"]),
            show_text(each["time"]),
            show_text(each["source"]),
            show_text(each["why"]),
        )
        for each in result["plan"]
    ]
    if rows:
        terminal.columns(("PLAN", "ID", "TIME", "SOURCE", "WHY"), rows)
    if (more := result["to_keep"] + result["to_delete"] - len(rows)) > 0:
        terminal.line(f"and {more:,} more; all of them: ./syncova ctl run log {run_id}")
    if result["lost_manifests"]:
        lost = show_count(result["lost_manifests"], "backup")
        terminal.warning(f"{lost} that nobody can read would be deleted too")
    terminal.line(f"{result['to_keep']:,} to keep, {result['to_delete']:,} to delete")
