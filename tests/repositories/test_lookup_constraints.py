"""PostgreSQL refuses bad rows of lookups (D2)."""

import datetime as dt
from typing import Any

import pytest

from repositories.lookup_rows import MAX_ANSWER_BYTES, MAX_QUESTION, RepositoryLookup
from tests.refusals import refused_by
from tests.repositories.builders import NOW, make_repository, new_id

pytestmark = pytest.mark.django_db

SEALED = bytes(40)


def make_lookup(**fields: Any) -> RepositoryLookup:
    values: dict[str, Any] = {
        "id": new_id(),
        "repository": fields.pop("repository", None) or make_repository(),
        "backup_id": "b",
        "worker_group": "default",
        "operation": "browse",
        "question": "{}",
        "question_digest": str(new_id()),
        "asked_at": NOW,
        "rung_at": NOW,
        "expires_at": NOW + dt.timedelta(minutes=10),
    }
    return RepositoryLookup.objects.create(**(values | fields))


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("repository_lookups_state_is_known", {"state": "broken"}),
        ("repository_lookups_question_is_bounded", {"question": "q" * (MAX_QUESTION + 1)}),
        ("repository_lookups_question_is_bounded", {"operation": "prune"}),
        ("repository_lookups_answered_has_a_bounded_answer", {"state": "answered"}),
        ("repository_lookups_answered_has_a_bounded_answer", {"sealed_answer": SEALED}),
        (
            "repository_lookups_answered_has_a_bounded_answer",
            {"state": "answered", "sealed_answer": bytes(MAX_ANSWER_BYTES + 1)},
        ),
        ("repository_lookups_failed_says_why", {"state": "failed"}),
        ("repository_lookups_running_says_who", {"state": "running", "started_at": NOW}),
        ("repository_lookups_running_says_who", {"state": "running", "worker": "alpha:1"}),
        ("repository_lookups_expires_after_asked", {"expires_at": NOW}),
    ],
)
def test_a_bad_lookup_is_refused(constraint: str, fields: dict[str, Any]) -> None:
    with refused_by(constraint):
        make_lookup(**fields)


def test_a_question_is_one_lookup_until_it_has_failed() -> None:
    place = make_repository()
    make_lookup(repository=place, question_digest="d", state="failed", error_code="X", error_message="why")
    make_lookup(repository=place, question_digest="d", state="answered", sealed_answer=SEALED)
    with refused_by("repository_lookups_once_per_question"):
        make_lookup(repository=place, question_digest="d")


def test_a_worker_process_looks_for_one_at_a_time() -> None:
    place = make_repository()
    running = {"repository": place, "state": "running", "worker": "alpha:1", "started_at": NOW}
    make_lookup(**running)
    make_lookup(**{**running, "worker": "beta:1"})
    with refused_by("repository_lookups_one_running_per_worker"):
        make_lookup(**running)
