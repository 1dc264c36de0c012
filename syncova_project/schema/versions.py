"""The committed table of schema versions: version n is the state after the first n steps, each one migration.

Owns the order, and nothing else. Steps are only ever appended: a number means the same in every release. A test holds
the table against the migrations that are there.
"""

from collections.abc import Collection, Sequence
from typing import Final

_CONTRIB: Final = (
    "contenttypes.0001_initial",
    "contenttypes.0002_remove_content_type_name",
    "auth.0001_initial",
    "auth.0002_alter_permission_name_max_length",
    "auth.0003_alter_user_email_max_length",
    "auth.0004_alter_user_username_opts",
    "auth.0005_alter_user_last_login_null",
    "auth.0006_require_contenttypes_0002",
    "auth.0007_alter_validators_add_error_messages",
    "auth.0008_alter_user_username_max_length",
    "auth.0009_alter_user_last_name_max_length",
    "auth.0010_alter_group_name_max_length",
    "auth.0011_update_proxy_permissions",
    "auth.0012_alter_user_first_name_max_length",
    "admin.0001_initial",
    "admin.0002_logentry_remove_auto_add",
    "admin.0003_logentry_add_action_flag_choices",
    "sessions.0001_initial",
)
STEPS: Final[tuple[str, ...]] = (
    *_CONTRIB,
    "access.0001_initial",
    "access.0002_audit_append_only",
    "repositories.0001_initial",
    "repositories.0002_freeze_journal_append_only",
    "repositories.0003_trouble",
    "repositories.0004_memory",
    "jobs.0001_initial",
    "jobs.0002_guards",
    "jobs.0003_worker_marks",
    "jobs.0004_accepted_roots",
    "jobs.0005_windows_in_force",
    "jobs.0006_zone_rules",
    "jobs.0010_dependencies_and_breakers",
    "access.0020_right_to_restore",
    "jobs.0020_restore_roots",
    "jobs.0021_upkeep_plans",
    "jobs.0022_hooks",
    "jobs.0023_draining",
    "access.0021_right_to_ignore_windows",
    "jobs.0030_zone_rules_of_rows",
    "repositories.0030_control_plane",
    "jobs.0050_restored_database",
    "access.0030_right_to_restore_in_place",
    "jobs.0039_lists_over_history",
    "access.0040_more_rights",
    "access.0041_ready_groups",
    "access.0042_audit_seals",
    "access.0043_own_tokens",
    "access.0044_login_attempts",
    "jobs.0090_skipped_sources",
    "repositories.0060_lookups",
    "access.0045_groups_of_tokens",
    "jobs.0060_errors_by_age",
    "access.0046_sight_of_people",
    "access.0047_groups_keep_their_limit",
)


def apps() -> frozenset[str]:
    """Return the labels of the apps whose migrations are steps."""
    return frozenset(step.partition(".")[0] for step in STEPS)


def version_of(applied: Collection[str], steps: Sequence[str] | None = None) -> int:
    """Return the highest version whose steps are all applied."""
    known = STEPS if steps is None else steps
    return next((number for number, step in enumerate(known) if step not in applied), len(known))


def leaves_of(version: int, steps: Sequence[str] | None = None) -> dict[str, str]:
    """Return the leaf migration of each app at a version."""
    leaves: dict[str, str] = {}
    for step in (STEPS if steps is None else steps)[:version]:
        app, _, name = step.partition(".")
        leaves[app] = name
    return leaves
