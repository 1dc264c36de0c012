"""PostgreSQL refuses bad rows of access control, whoever writes them (E3, E5)."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection, models

from syncova_project.access.models import ApiToken, AuditEntry, IdempotencyKey
from tests.refusals import refused_by

pytestmark = pytest.mark.django_db
NOW = dt.datetime(2026, 11, 30, 2, 0, tzinfo=dt.UTC)


def make_token(**fields: Any) -> ApiToken:
    values = {"name": "nightly", "prefix": "p" * 12, "digest": bytes(32), "scopes": ["jobs.read"], "created_at": NOW}
    return ApiToken.objects.create(**(values | fields))


def make_entry(**fields: Any) -> AuditEntry:
    values = {"at": NOW, "actor": "alice", "action": "job.pause", "subject_type": "job", "subject_id": "1"}
    return AuditEntry.objects.create(**(values | fields))


def make_key(**fields: Any) -> IdempotencyKey:
    values = {"principal": "alice", "key": "k", "fingerprint": bytes(32), "created_at": NOW}
    return IdempotencyKey.objects.create(**(values | fields))


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("api_tokens_name_is_not_blank", {"name": "  "}),
        ("api_tokens_digest_has_32_bytes", {"digest": b"short"}),
        ("api_tokens_scopes_are_known", {"scopes": ["jobs.read", "everything"]}),
        ("api_tokens_has_a_scope", {"scopes": []}),
        ("api_tokens_expires_after_creation", {"expires_at": NOW}),
    ],
)
def test_a_bad_token_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        make_token(**fields)


def test_two_tokens_of_one_prefix_are_refused() -> None:
    make_token()
    with refused_by("api_tokens_prefix_key"):
        make_token(name="another")


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("idempotency_keys_fingerprint_has_32_bytes", {"fingerprint": b"short"}),
        ("idempotency_keys_key_has_1_to_255_chars", {"key": ""}),
        ("idempotency_keys_key_has_1_to_255_chars", {"key": "k" * 256}),
        ("idempotency_keys_only_successes_are_kept", {"status": 409}),
    ],
)
def test_a_bad_key_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        make_key(**fields)


def test_one_row_per_principal_and_key() -> None:
    make_key()
    make_key(principal="bob")
    with refused_by("idempotency_keys_one_per_principal"):
        make_key()


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [("audit_entries_actor_is_not_blank", {"actor": " "}), ("audit_entries_action_is_not_blank", {"action": ""})],
)
def test_an_entry_without_actor_or_action_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        make_entry(**fields)


def test_the_audit_trail_is_never_updated() -> None:
    make_entry()
    with refused_by("audit_entries_is_append_only"):
        AuditEntry.objects.update(actor="mallory")


def test_the_audit_trail_is_never_deleted_from() -> None:
    entry = make_entry()
    with refused_by("audit_entries_is_append_only"):
        entry.delete()


def test_the_audit_trail_is_never_truncated() -> None:
    make_entry()
    with refused_by("audit_entries_is_append_only"), connection.cursor() as cursor:
        cursor.execute("TRUNCATE audit_entries")


def test_every_constraint_of_the_app_is_named_by_its_table() -> None:
    tables: list[type[models.Model]] = [ApiToken, AuditEntry, IdempotencyKey]
    for model in tables:
        for constraint in model._meta.constraints:
            assert constraint.name.startswith(model._meta.db_table + "_")
