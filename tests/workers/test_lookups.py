"""Browsing and finding in backups: asked over HTTP, answered by a worker with the real engine, read over HTTP (7.4)."""

import base64
import datetime as dt
import os
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from jobs.database_time import database_now
from jobs.services import WorkerInput, worker_seen
from jobs.tick import run_pass
from repositories import lookups
from repositories.lookup_rows import LookupState, RepositoryLookup
from repositories.lookups import LookupOutcome, lookup_claim, lookup_close
from repositories.models import Backup, Repository
from repositories.vault import password_context, seal
from syncova_project.access.services import token_create
from tests.api.client import Answer, ApiClient
from tests.jobs.builders import make_runner
from tests.repositories.builders import make_backup
from tests.workers import scenario
from tests.workers.scenario import Ground
from tests.workers.test_executor import execute, request_for
from workers import lookups as looking
from workers.lookups import look

pytestmark = pytest.mark.django_db

STRANGE = b"new\nline-\xff"


@pytest.fixture
def place(tmp_path: Path, settings: Any) -> Ground:
    """A repository with one backup, a group that is served, and nobody who waits: each answer is asked for."""
    settings.SYNCOVA_INSPECT, settings.SYNCOVA_LONG_ANSWERS = "", 0
    worker_seen(WorkerInput("direct", "alpha", 1, slots=4), now=database_now())
    return scenario.ground(tmp_path, "direct")


def backed_up(place: Ground, *names: bytes) -> Backup:
    """Return the row of a backup of a tree with these files below `sub`, and one empty directory."""
    tree = place.directory / "source"
    (tree / "sub").mkdir(parents=True)
    (tree / "empty").mkdir()
    for name in names:
        Path(os.fsdecode(os.fsencode(tree / "sub") + b"/" + name)).write_bytes(name)
    assert execute(request_for(place, tree)).failure is None
    return Backup.objects.get()


def asked(backup: Backup, query: str) -> Answer:
    """Ask, let a worker look, and read its answer where the server says that it will be."""
    client = ApiClient("repositories.read")
    first = client.get(f"repositories/{backup.repository_id}/backups/{backup.backup_id}/{query}")
    if first.status != 202:
        return first
    assert first.json["state"] == LookupState.WAITING
    place = first.headers["Location"]
    assert (client.get(place).status, first.headers["Retry-After"]) == (202, "1")
    look(uuid.UUID(first.json["id"]))
    return client.get(place)


def names(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.json
    return [entry["path"] for entry in answer.json["entries"]]


def test_a_directory_is_browsed_in_pages_with_exact_names(place: Ground) -> None:
    backup = backed_up(place, b"a", b"b b", STRANGE, b"z")
    top = asked(backup, "files")
    assert (names(top), top.json["is_directory"], top.json["next_cursor"]) == (["empty", "sub"], True, None)
    assert [entry["type"] for entry in top.json["entries"]] == ["directory", "directory"]
    first = asked(backup, "files?path=sub&limit=3")
    assert names(first) == ["sub/a", "sub/b b", r"sub/new\x0aline-\xff"]
    exact = first.json["entries"][2]["path_base64"]
    assert base64.b64decode(exact) == b"sub/" + STRANGE
    assert "path_base64" not in first.json["entries"][0]
    rest = asked(backup, f"files?path=sub&limit=3&cursor={first.json['next_cursor']}")
    assert (names(rest), rest.json["next_cursor"]) == (["sub/z"], None)
    alone = asked(backup, f"files?path_base64={quote(exact)}")
    assert (names(alone), alone.json["is_directory"]) == ([r"sub/new\x0aline-\xff"], False)
    assert names(asked(backup, f"files?path={place.directory}/source/empty")) == []
    for other in ("files?path=empty", "find?pattern=*"):
        asked(backup, f"{other}&cursor={first.json['next_cursor']}").refused(400, "CURSOR_REFUSED")


def test_paths_are_found_in_pages_and_what_is_not_there_is_told_apart(place: Ground) -> None:
    backup, client = backed_up(place, b"one.txt", b"two.txt", b"three.TXT", b"other"), ApiClient()
    first = asked(backup, "find?pattern=*.txt&ignore_case=true&limit=2")
    assert names(first) == ["sub/one.txt", "sub/three.TXT"]
    rest = asked(backup, f"find?pattern=*.txt&ignore_case=true&limit=2&cursor={first.json['next_cursor']}")
    assert (names(rest), rest.json["next_cursor"], rest.json["unread"]) == (["sub/two.txt"], None, 0)
    assert names(asked(backup, "find?pattern=sub/o*")) == ["sub/one.txt", "sub/other"]
    for query in ("find", "find?pattern=", "find?pattern=a&x=1", "files?limit=0", "files?path=a&path_base64=YQ=="):
        asked(backup, query).refused(400, "VALIDATION_FAILED")
    asked(backup, "files?path=sub/b").refused(404, "PATH_NOT_IN_BACKUP")
    # By its row's id it is the same question, which is answered.
    client.get(f"repositories/{backup.repository_id}/backups/{backup.id}/files?path=sub/b").refused(
        404, "PATH_NOT_IN_BACKUP"
    )
    asked(backup, "files?path=../sub").refused(404, "PATH_NOT_IN_BACKUP")
    asked(backup, "files?path=a%00b").refused(400, "VALIDATION_FAILED")
    client.get(f"repositories/{backup.repository_id}/backups/none/files").refused(404, "BACKUP_NOT_FOUND")
    client.get(f"lookups/{uuid.uuid4()}").refused(404, "LOOKUP_UNKNOWN")
    row, now = RepositoryLookup.objects.earliest("id"), database_now()
    make_runner("another")
    for group, status in (("direct", 200), ("another", 404)):
        token = token_create(name="limited", scopes=["runs.read"], now=now, worker_groups=[group])[1]
        assert ApiClient(token=token).get(f"lookups/{row.id}").status == status
    Repository.objects.update(worker_group="another")
    error = asked(backup, "files?path=sub").refused(409, "GROUP_NOT_SERVED")
    assert error["details"] == {"worker_group": "another"}


def test_an_engine_that_cannot_look_says_why(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    backup = backed_up(place, b"a")
    row = place.repository
    Repository.objects.filter(pk=row.pk).update(sealed_password=seal(b"wrong", password_context(row.pk)))
    assert asked(backup, "files").refused(409, "LOOKUP_FAILED")["details"] == {"code": "WRONG_PASSWORD"}
    # What failed is asked anew.
    Repository.objects.filter(pk=row.pk).update(sealed_password=b"\x01" + bytes(60))
    assert asked(backup, "files").refused(409, "LOOKUP_FAILED")["details"] == {"code": "SECRET_UNREADABLE"}
    Repository.objects.filter(pk=row.pk).update(sealed_password=row.sealed_password)
    # A10: what was swapped is a stranger's.
    os.rename(place.location, place.directory / "mine")
    scenario.new_repository(Path(place.location))
    error = asked(backup, "files").refused(409, "LOOKUP_FAILED")
    assert (error["details"], "swapped" in error["hint"]) == ({"code": "BACKUP_NOT_FOUND"}, True)
    monkeypatch.setattr(looking, "SECONDS", 0.0)
    monkeypatch.setattr(looking, "_GRACE_SECONDS", 0.0)
    assert asked(backup, "files").refused(409, "LOOKUP_FAILED")["details"] == {"code": "LOOKUP_TIMEOUT"}


def waiting(backup: Backup, *paths: str) -> list[RepositoryLookup]:
    for path in paths:
        ApiClient().get(f"repositories/{backup.repository_id}/backups/{backup.id}/files?path={path}")
    return list(RepositoryLookup.objects.order_by("id"))


def test_a_worker_looks_for_one_at_a_time_and_goes_on_by_itself(place: Ground) -> None:
    """The other children stay free for runs, however many ask."""
    one, two, three = waiting(make_backup(place.repository), "sub", "empty", "sub/a")
    now = database_now()
    first = lookup_claim(one.id, worker="alpha:1", now=now)
    assert first is not None
    assert lookup_claim(one.id, worker="beta:1", now=now) is None
    assert lookup_claim(two.id, worker="alpha:1", now=now) is None
    other = lookup_claim(two.id, worker="beta:1", now=now)
    assert other is not None
    following = lookup_close(first, LookupOutcome(answer={"entries": []}), worker="alpha:1", now=now)
    assert following is not None
    assert following.id == three.id
    # Its commit's answer was lost, and it is closed again.
    again = lookup_close(first, LookupOutcome(answer={"entries": []}), worker="alpha:1", now=now)
    assert again is not None
    assert again.id == three.id
    assert lookup_close(following, LookupOutcome(), worker="alpha:1", now=now) is None
    states = list(RepositoryLookup.objects.order_by("id").values_list("state", flat=True))
    assert states == ["answered", "running", "waiting"]
    late = now + lookups.GONE_AFTER + dt.timedelta(seconds=1)
    assert lookup_claim(two.id, worker="gamma:1", now=late) is not None


def test_a_worker_answers_all_that_wait_and_seals_it(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = waiting(make_backup(place.repository), "sub", "empty", "sub/a")
    monkeypatch.setattr(looking, "answer_of", lambda row: LookupOutcome(answer={"entries": ["a secret name"] * 20}))
    look(rows[0].id)
    assert set(RepositoryLookup.objects.values_list("state", flat=True)) == {LookupState.ANSWERED}
    assert b"secret" not in b"".join(bytes(row.sealed_answer or b"") for row in RepositoryLookup.objects.all())


def test_the_same_question_is_one_lookup_and_is_forgotten(place: Ground) -> None:
    rows = waiting(make_backup(place.repository), "sub", "sub", "empty")
    assert len(rows) == 2
    RepositoryLookup.objects.filter(pk=rows[0].pk).update(
        asked_at=database_now() - 2 * lookups.KEPT_FOR, expires_at=database_now()
    )
    ApiClient().get(f"lookups/{rows[0].id}").refused(404, "LOOKUP_UNKNOWN")
    run_pass()
    assert RepositoryLookup.objects.get().pk == rows[1].pk


def test_too_many_at_once_are_refused(place: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MOST_WAITING", 1)
    (row,) = waiting(make_backup(place.repository), "sub", "empty")
    answer = ApiClient().get(f"repositories/{row.repository_id}/backups/{row.backup_id}/files")
    answer.refused(429, "TOO_MANY_LOOKUPS")
    assert answer.headers["Retry-After"] == "6"
