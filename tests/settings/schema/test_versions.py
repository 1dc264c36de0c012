"""The committed table of schema versions against the migrations that are there (H9)."""

from importlib import import_module

from django.apps import apps
from django.db.migrations.loader import MigrationLoader

from jobs.admission import ADMITTER_LOCK
from jobs.dependencies import GRAPH_LOCK
from jobs.window_rows import WINDOWS_LOCK
from syncova_project.named_locks import NamedLock
from syncova_project.schema import versions
from syncova_project.schema.versions import STEPS, leaves_of, version_of


def test_the_table_names_each_migration_once_after_those_that_it_needs() -> None:
    """A new migration: append its line to syncova_project/schema/versions.py, and change no other line."""
    graph = MigrationLoader(connection=None).graph
    there = {f"{app}.{name}" for app, name in graph.nodes}
    assert sorted(STEPS) == sorted(there)
    place = {step: number for number, step in enumerate(STEPS)}
    for app, name in graph.nodes:
        for needed in graph.node_map[(app, name)].parents:
            assert place[f"{needed.key[0]}.{needed.key[1]}"] < place[f"{app}.{name}"]


def test_the_apps_are_those_with_migrations() -> None:
    labels = {config.label for config in apps.get_app_configs() if _has_migrations(config.name)}
    assert labels == versions.apps()


def _has_migrations(name: str) -> bool:
    try:
        return bool(import_module(f"{name}.migrations"))
    except ModuleNotFoundError:
        return False


def test_a_version_is_what_is_applied_without_a_gap() -> None:
    steps = ("a.1", "b.1", "a.2", "b.2")
    assert [version_of(set(steps[:count]), steps) for count in range(5)] == [0, 1, 2, 3, 4]
    assert version_of({"a.1", "a.2", "b.2"}, steps) == 1
    assert leaves_of(3, steps) == {"a": "2", "b": "1"}
    assert leaves_of(0, steps) == {}


def test_named_locks_have_numbers_of_their_own() -> None:
    """H9: two locks of one number would wait for each other's holders."""
    assert (ADMITTER_LOCK, GRAPH_LOCK, WINDOWS_LOCK) == (
        NamedLock.ADMISSION,
        NamedLock.DEPENDENCIES,
        NamedLock.WINDOWS,
    )
    assert len({int(lock) for lock in NamedLock}) == len(NamedLock)
