"""Plain builders of repository rows; each takes what the test cares about and fills in the rest."""

import datetime as dt
import uuid
from typing import Any

from repositories.engine.ids import uuid7
from repositories.models import Backup, Repository, RepositoryState
from repositories.vault import password_context, seal
from tests import canaries

NOW = dt.datetime(2026, 11, 30, 2, 0, tzinfo=dt.UTC)


def new_id() -> uuid.UUID:
    return uuid7(int(NOW.timestamp()) * 1_000_000_000)


def random_hex() -> str:
    return uuid.uuid4().hex


def make_repository(**fields: Any) -> Repository:
    """Return a saved repository, active unless told otherwise."""
    row_id = fields.pop("id", new_id())
    values: dict[str, Any] = {
        "name": f"repository {row_id.hex[-8:]}",
        "location": f"/srv/{row_id.hex}",
        "sealed_password": seal(canaries.repository_password("registered").encode(), password_context(row_id)),
        "state": RepositoryState.ACTIVE,
        "repository_id": random_hex(),
        "created_at": NOW,
    }
    return Repository.objects.create(id=row_id, **(values | fields))


def make_backup(repository: Repository, **fields: Any) -> Backup:
    """Return a saved reference to a full backup."""
    run_id = fields.pop("run_id", new_id())
    values: dict[str, Any] = {
        "id": new_id(),
        "backup_id": f"run-{run_id}-home-0a1b2c3d",
        "repository": repository,
        "run_id": run_id,
        "manifest_id": random_hex(),
        "chain": random_hex(),
        "mode": "full",
        "logical_bytes": 10,
        "bytes_read": 10,
        "bytes_stored": 10,
        "files": 1,
        "skipped": 0,
        "warnings": 0,
        "created_at": NOW,
    }
    return Backup.objects.create(**(values | fields))
