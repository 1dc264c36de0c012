"""The program ./syncova ctl: its groups and verbs in the order in which help lists them. Owns no behaviour."""

from collections.abc import Sequence
from typing import Any

import typer

from jobs.ctl import (
    backup_get,
    backup_verbs,
    breaker_verbs,
    dependency_verbs,
    freeze_verbs,
    job_create,
    job_edit,
    job_history,
    job_verbs,
    plan_verbs,
    queue,
    repository_verbs,
    restore,
    run_verbs,
    status,
    upkeep_verbs,
    window_save,
    window_verbs,
)
from repositories.console.entry import new_program, run
from repositories.console.verbs import add_verb

NAME = "./syncova ctl"
GROUPS: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    (
        "repository",
        "Repositories that the server knows.",
        (
            repository_verbs.Register,
            repository_verbs.List,
            freeze_verbs.Freeze,
            freeze_verbs.Unfreeze,
            freeze_verbs.Journal,
            freeze_verbs.Limit,
            breaker_verbs,
            upkeep_verbs.Check,
            upkeep_verbs.Prune,
            upkeep_verbs.Forget,
            upkeep_verbs.Copy,
            plan_verbs.Plan,
            plan_verbs.Plans,
            plan_verbs.Unplan,
        ),
    ),
    (
        "job",
        "What is backed up, where to and when.",
        (
            job_create,
            job_verbs.List,
            job_verbs.Show,
            job_edit.Edit,
            job_edit.Rename,
            job_verbs.Run,
            job_history.Preview,
            job_history.Decisions,
            job_history.Revisions,
            dependency_verbs,
            job_verbs.Pause,
            job_verbs.Resume,
            job_verbs.Delete,
        ),
    ),
    (
        "window",
        "When runs may start.",
        (
            window_save.Create,
            window_verbs.List,
            window_verbs.Show,
            window_save.Change,
            window_verbs.Preview,
            window_verbs.Delete,
        ),
    ),
    (
        "backup",
        "Backups that the server knows, and what is in them.",
        (backup_verbs.List, backup_verbs.Show, backup_verbs.Ls, backup_verbs.Find, backup_get),
    ),
    ("run", "Executions of jobs.", (run_verbs.List, run_verbs.Show, run_verbs.Log, run_verbs.Cancel)),
)


def build() -> typer.Typer:
    """Return the program with all its verbs."""
    app = new_program(NAME, "Control a Syncova server over its API.")
    for name, help_text, verbs in GROUPS:
        group = typer.Typer(name=name, help=help_text, rich_markup_mode=None, pretty_exceptions_enable=False)
        for verb in verbs:
            add_verb(group, verb, f"{NAME} {name}")
        app.add_typer(group)
    add_verb(app, restore, NAME)
    add_verb(app, queue, NAME)
    add_verb(app, status, NAME)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ./syncova ctl and return its exit code."""
    return run(build(), NAME, arguments)
