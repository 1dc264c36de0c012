"""JSON of repositories: what may be sent in, and what is shown.

Owns names and forms of the fields. Shows no secret; decides nothing.
"""

from typing import Any

from rest_framework import serializers

from repositories.freezing import MAX_REASON
from repositories.limits import MAX_RUNS
from repositories.looking import is_looked_for
from repositories.models import Repository, RepositoryFreeze
from repositories.selectors import open_freezes, refusal
from repositories.services import MAX_NAME
from syncova_project.instants import instant
from syncova_project.rest import PlainName, StrictSerializer


class RegisterInput(StrictSerializer):
    """The body of POST /repositories; the password is write-only and kept sealed."""

    name = PlainName(max_length=MAX_NAME)
    location = serializers.CharField(max_length=4096, trim_whitespace=False)
    password = serializers.CharField(max_length=4096, trim_whitespace=False, allow_blank=True, write_only=True)
    worker_group = serializers.CharField(max_length=100, default="default")


class FreezeInput(StrictSerializer):
    """The body of POST …/freeze: why, for everybody who then waits."""

    reason = serializers.CharField(max_length=MAX_REASON)


class UnfreezeInput(StrictSerializer):
    """The body of POST …/unfreeze; `adopt_observed_id` accepts a swapped medium as the right one."""

    adopt_observed_id = serializers.BooleanField(default=False)


class JournalFilter(StrictSerializer):
    """The query parameters of the freeze journal: `before` is the number that the last page ended with."""

    before = serializers.IntegerField(min_value=1, max_value=2**62, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=1000, default=200)


class LimitsInput(StrictSerializer):
    """The body of PUT …/limits: how many runs may write at once, and whether one chain goes after the other."""

    max_concurrent_runs = serializers.IntegerField(min_value=1, max_value=MAX_RUNS)
    serial_gate = serializers.BooleanField()


class RepositoryFilter(StrictSerializer):
    """The query parameters of GET /repositories."""

    search = serializers.CharField(max_length=200, required=False)


def repository_json(repository: Repository) -> dict[str, Any]:
    """Return a repository as the API shows it; cheap when its open freezes were loaded with it."""
    refused = refusal(repository)
    swapped = repository.observed_repository_id not in {None, repository.repository_id}
    return {
        "id": str(repository.id),
        "name": repository.name,
        "location": repository.location,
        "worker_group": repository.worker_group,
        "state": repository.state,
        "state_code": repository.state_code,
        "state_reason": repository.state_reason,
        "repository_id": repository.repository_id,
        "observed_repository_id": repository.observed_repository_id,
        "observed_at": instant(repository.observed_at) if repository.observed_at else None,
        "look_pending": is_looked_for(repository),
        "swapped": swapped,
        "accepts_backups": refused is None,
        "refusal_code": refused.code if refused else None,
        "refusal_reason": refused.reason if refused else None,
        "trouble": _trouble_json(repository),
        "epoch": repository.epoch,
        "reindex_wanted": _reindex_json(repository),
        "reindexed_at": instant(repository.reindexed_at),
        "freezes": [freeze_json(freeze) for freeze in open_freezes(repository)],
        "max_concurrent_runs": repository.max_concurrent_runs,
        "serial_gate": repository.serial_gate,
        "created_at": instant(repository.created_at),
    }


def _reindex_json(repository: Repository) -> dict[str, Any] | None:
    """Return since when and why nothing is planned or deleted on it, None where the database knows as much as it."""
    if repository.reindex_wanted_at is None:
        return None
    return {"reason": repository.reindex_reason, "since": instant(repository.reindex_wanted_at)}


def _trouble_json(repository: Repository) -> dict[str, Any] | None:
    if repository.trouble_at is None:
        return None
    return {
        "code": repository.trouble_code,
        "reason": repository.trouble_reason,
        "since": instant(repository.trouble_at),
    }


def freeze_json(freeze: RepositoryFreeze) -> dict[str, Any]:
    """Return one row of the freeze journal; `number` is what `before` takes."""
    return {
        "number": freeze.pk,
        "frozen_at": instant(freeze.frozen_at),
        "frozen_by": freeze.frozen_by,
        "reason": freeze.reason,
        "run": str(freeze.run_id) if freeze.run_id else None,
        "cleared_at": instant(freeze.cleared_at),
        "cleared_by": freeze.cleared_by or None,
    }
