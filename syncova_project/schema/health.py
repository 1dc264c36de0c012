"""Whether the database still holds what keeps its rows true (H9): triggers, constraints, indexes, sequences, version.

Owns the comparison with what models and migrations make. A restore by hand, or a session with triggers switched off,
can leave any of them out without a word; every rule of ours rests on them.
"""

from collections.abc import Iterator
from typing import Any, Final

from django.apps import apps

from syncova_project.schema import record
from syncova_project.schema.judgement import unfit

TRIGGERS: Final = frozenset(
    {
        "runs_finished_is_final",
        "job_revisions_is_append_only",
        "run_events_is_append_only",
        "job_dependencies_have_no_cycle",
        "repository_freezes_is_append_only",
        "repository_freezes_is_never_truncated",
        "audit_entries_is_append_only",
        "audit_entries_wait_for_seals",
        "audit_seals_is_append_only",
        "audit_seal_marks_is_append_only",
    }
)
_APPS: Final = ("jobs", "repositories", "access")
_ENABLED: Final = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')"
# Constraints on expressions are indexes alone.
_THERE: Final = """
SELECT conname FROM pg_constraint WHERE convalidated
UNION SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid WHERE indisvalid AND indisready
"""
_BEHIND: Final = """
SELECT coalesce((SELECT max(fence) FROM runs), 0), coalesce((SELECT max(fence_intended) FROM repositories), 0),
       (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM run_fences)
"""


def problems(connection: Any) -> Iterator[str]:
    """Yield what is wrong, one sentence each; nothing where all is well. Reads only."""
    unfitting = unfit(record.read_standing(connection))
    if unfitting is not None:
        yield f"{unfitting.code}: {unfitting.message}"
    for name in sorted(TRIGGERS - _names(connection, _ENABLED)):
        yield f"the trigger {name} is missing or switched off"
    for name in sorted(named_rules() - _names(connection, _THERE)):
        yield f"the constraint or index {name} is missing or not valid"
    with connection.cursor() as cursor:
        cursor.execute(_BEHIND)
        of_runs, intended, last = cursor.fetchone()
    given = max(of_runs, intended)
    if last < given:
        yield f"the sequence run_fences stands at {last}, below {given}: fences would be given out twice"


def named_rules() -> frozenset[str]:
    """Return the names of all constraints and indexes that the models of our apps declare."""
    options = [model._meta for app in _APPS for model in apps.get_app_config(app).get_models()]
    rules = [rule.name for each in options for rule in (*each.constraints, *each.indexes)]
    return frozenset(rules)


def _names(connection: Any, query: str) -> frozenset[str]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return frozenset(name for (name,) in cursor.fetchall())
