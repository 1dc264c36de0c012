"""Every constraint of jobs has a test in which PostgreSQL refuses a row by its name, and a name that says its table."""

from pathlib import Path

from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader

HERE = Path(__file__).parent


def constraints() -> list[tuple[str, str]]:
    state = MigrationLoader(connection=None).project_state()
    return [
        (model.options["db_table"], constraint.name)
        for (app, _), model in state.models.items()
        if app == "jobs"
        for constraint in model.options.get("constraints", [])
    ]


def test_each_constraint_is_refused_somewhere() -> None:
    """D2."""
    tests = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*_constraints.py"))
    names = [name for _, name in constraints()]
    assert len(names) > 90
    assert [name for name in names if f'"{name}"' not in tests] == []


def test_a_name_begins_with_its_table() -> None:
    assert [name for table, name in constraints() if not name.startswith(f"{table}_")] == []


def test_tables_are_plain_plurals() -> None:
    tables = {model._meta.db_table for model in apps.get_app_config("jobs").get_models()}
    assert {"jobs", "runs", "task_runs", "sources", "runners", "schedules", "worker_processes"} <= tables
    assert not [table for table in tables if table.startswith("jobs_")]
    assert connection.vendor == "postgresql"
