"""Registered repositories on remote media (4.6, 4.8, 4.9): a whole life over real workers, and its secrets."""

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from redis import Redis

from jobs import run_log
from jobs.database_time import database_now
from jobs.models import Run
from jobs.services import operation_request
from jobs.states import FailureClass, RunKind, RunState
from repositories.console.storage_credentials import credentials_for
from repositories.engine.creation import CreateOptions
from repositories.engine.repository import create_repository
from repositories.engine.storage import credentials as names
from repositories.engine.storage.locations import open_storage
from repositories.models import Repository
from repositories.opening import repository_access
from repositories.services import repository_inspected
from syncova_project import env
from tests.api.client import ApiClient
from tests.engine.storage.conftest import server_of as server_of
from tests.engine.storage.servers import KEY_ID, SECRET, Server
from tests.workers import scenario
from tests.workers.harness import PROJECT, Stack, eventually
from tests.workers.test_executor import execute, request_for
from tests.workers.test_media import alone, password_file, same
from workers import backup, engine_request, media, operations

SETTINGS = {
    names.ACCESS_KEY_ID: "AWS_ACCESS_KEY_ID",
    names.SECRET_ACCESS_KEY: "AWS_SECRET_ACCESS_KEY",
    names.KNOWN_HOSTS: "SYNCOVA_SFTP_KNOWN_HOSTS",
}
PASSWORDS = {"webdav": "SYNCOVA_WEBDAV_PASSWORD", "sftp": "SYNCOVA_SFTP_PASSWORD"}


def on_this_machine(server: Server, directory: Path) -> dict[str, str]:
    """Return a worker's variables for a server: secrets by files, as docs/storage.md says."""
    variables = {}
    for name, value in server.credentials.values.items():
        variable = SETTINGS.get(name) or PASSWORDS[server.kind]
        if name == names.KNOWN_HOSTS:
            variables[variable] = value
            continue
        path = directory / f"{variable}.secret"
        path.write_text(value + "\n")
        variables[f"{variable}_FILE"] = str(path)
    return variables


def made_on(server: Server, name: str) -> str:
    """Make a repository there and return its location."""
    storage = open_storage(server.location(name), server.credentials)
    create_repository(storage, CreateOptions(password=scenario.PASSWORD, kdf=scenario.CHEAP))
    return server.location(name)


@dataclass
class Listener:
    """Everything that is said to the broker while it listens."""

    broker: Redis
    heard: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        with self.broker.monitor() as monitor:
            thread = threading.Thread(target=self._listen, args=(monitor,), daemon=True)
            thread.start()
            try:
                yield
            finally:
                self.broker.publish("listener", "end")
                thread.join()

    def _listen(self, monitor: Any) -> None:
        for said in monitor.listen():
            self.heard.append(str(said["command"]))
            if said["command"].startswith("PUBLISH listener"):
                return


def rows_of_all_tables() -> str:
    """Return every row of every table of ours as PostgreSQL writes it."""
    found = []
    for model in apps.get_models(include_auto_created=True):
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT row_to_json(t)::text FROM "{model._meta.db_table}" t')
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


def registered_by_api(client: ApiClient, locations: list[str]) -> list[Repository]:
    """Register over the API, wait for a worker's answers, and let it look once more."""
    rows = []
    for number, location in enumerate(locations):
        body = {"name": f"far {number}", "location": location, "worker_group": "far"}
        answer = client.post("repositories", {**body, "password": scenario.PASSWORD.decode()})
        assert (answer.status, answer.json["location"]) == (202, location), answer.json
        rows.append(Repository.objects.get(pk=answer.json["id"]))
    for row in map(scenario.answered, rows):
        assert (row.state, row.state_reason) == ("active", "")
        assert client.post(f"repositories/{row.id}/look").status == 202
        eventually(lambda row=row: not client.get(f"repositories/{row.id}").json["look_pending"])  # type: ignore[misc]
    return rows


def asked_to_check(row: Repository) -> Run:
    """Ask for a check that reads all."""
    read, now = {"read_data": True}, database_now()
    return operation_request(RunKind.CHECK, repository_id=row.id, parameters=read, actor="test", now=now)


def ended(runs: list[Run]) -> list[Run]:
    """Wait for runs and check that they succeeded."""
    done = [scenario.finished(run) for run in runs]
    assert [(run.state, run.error_message) for run in done] == [(RunState.SUCCEEDED, "")] * len(done)
    return done


def told(client: ApiClient, rows: list[Repository], runs: list[Run]) -> list[str]:
    """Return what people are told: answers of the API, and logs."""
    answers = [client.get(f"repositories/{row.id}").json for row in rows]
    answers += [client.get(f"runs/{run.id}").json for run in runs]
    return [json.dumps(answers), *(str(list(run_log.read(run.id))) for run in runs)]


def test_a_whole_life_and_no_credential_on_the_way(
    stack: Stack, server_of: Callable[[str], Server], tmp_path: Path
) -> None:
    """4.6, 4.8: register → look → job → run → check → restore; canaries in rows, messages, logs and answers."""
    client, listener = ApiClient(), Listener(stack.broker_client())
    servers = [server_of(kind) for kind in ("s3", "webdav", "sftp")]
    variables = {name: value for server in servers for name, value in on_this_machine(server, tmp_path).items()}
    with listener.listening():
        stack.start_worker("work", group="far", slots=3, **variables)
        rows = registered_by_api(client, [made_on(server, "life") for server in servers])
        tree = scenario.small_tree(tmp_path)
        jobs = [scenario.job(scenario.Ground(tmp_path, "far", row), tree) for row in rows]
        runs = ended([scenario.request(job) for job in jobs])
        checks = ended([asked_to_check(row) for row in rows])
    for row, run in zip(rows, runs, strict=True):
        words = ("restore", "-r", row.location, "--password-file", password_file(tmp_path), "--backup")
        target = tmp_path / f"out-{row.name[-1]}"
        code, _ = alone(
            "agents.runtime", *words, scenario.tasks(run)[0].backup_id, "--target", str(target), **variables
        )
        assert (code, same(tree, target)) == (0, True)
    assert all(str(run.id) in "".join(listener.heard) for run in runs), "their messages were heard"
    said = "\n".join([rows_of_all_tables(), *listener.heard, *told(client, rows, runs + checks), stack.log("work")])
    for secret in (SECRET, KEY_ID):
        assert secret not in said


class TestDirectly:
    """The executor and the inspection called directly, with the real engine and database."""

    pytestmark = pytest.mark.django_db

    @pytest.fixture(autouse=True)
    def nothing_known(self, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        settings.SYNCOVA_INSPECT = ""
        for name in ("SSH_AUTH_SOCK", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SHARED_CREDENTIALS_FILE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def registered(self, location: str, directory: Path, *, opened: bool = True) -> scenario.Ground:
        row = scenario.registered(location, "far")
        if opened:
            repository_inspected(repository_id=row.id, repository_hex=os.urandom(16).hex(), now=database_now())
        row.refresh_from_db()
        return scenario.Ground(directory, "far", row)

    def test_an_extra_that_this_machine_lacks_is_named_with_its_command(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """4.9: the run says so, and so does the registration; both name what to type."""
        (tmp_path / "without").mkdir()
        (tmp_path / "without" / "asyncssh.py").write_text("raise ModuleNotFoundError('none', name='asyncssh')\n")

        def lacking() -> dict[str, str]:
            return {**engine_request.engine_environment(), "PYTHONPATH": f"{tmp_path / 'without'}:{PROJECT}"}

        monkeypatch.setattr(backup, "engine_environment", lacking)
        monkeypatch.setattr(operations, "engine_environment", lacking)
        monkeypatch.setenv("SYNCOVA_SFTP_PASSWORD", SECRET)
        place = self.registered("sftp://keeper@127.0.0.1:9/x", tmp_path)
        failure = execute(request_for(place, scenario.small_tree(tmp_path))).failure
        assert failure is not None
        assert (failure.code, failure.failure_class) == ("EXTRA_MISSING", FailureClass.CONFIGURATION)
        assert failure.hint == "install it with: ./syncova install sftp"
        asked = self.registered("sftp://keeper@127.0.0.1:9/y", tmp_path, opened=False).repository
        operations.inspect(asked.id)
        asked.refresh_from_db()
        assert (asked.state, asked.state_code) == ("failed", "EXTRA_MISSING")
        assert asked.state_reason.endswith("install it with: ./syncova install sftp")

    def test_credentials_that_are_missing_or_unreadable_here_are_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """4.8: a run that cannot get in says which variable; no engine is started for a file that cannot be read."""
        place = self.registered("s3://backups/x?endpoint=http://127.0.0.1:9", tmp_path)
        request = request_for(place, scenario.small_tree(tmp_path))
        failure = execute(request).failure
        assert failure is not None
        assert (failure.code, failure.failure_class) == ("REPOSITORY_REFUSED", FailureClass.AUTHENTICATION)
        assert "AWS_ACCESS_KEY_ID" in failure.hint
        monkeypatch.setenv("AWS_ACCESS_KEY_ID_FILE", str(tmp_path / "nothing"))
        failure = execute(request).failure
        assert failure is not None
        assert failure.failure_class == FailureClass.CONFIGURATION
        assert "AWS_ACCESS_KEY_ID_FILE" in failure.message
        asked = self.registered("s3://backups/y?endpoint=http://127.0.0.1:9", tmp_path, opened=False).repository
        operations.inspect(asked.id)
        asked.refresh_from_db()
        assert asked.state == "failed"
        assert "AWS_ACCESS_KEY_ID_FILE" in asked.state_reason

    def test_the_engine_gets_them_by_its_standard_input_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """4.8: neither its environment nor any repr has them; the settings file of a worker counts as well."""
        (tmp_path / "worker.env").write_text(f"SYNCOVA_WEBDAV_PASSWORD={SECRET}\n")
        monkeypatch.setenv("SYNCOVA_SETTINGS_FILE", str(tmp_path / "worker.env"))
        place = self.registered("webdavs://keeper@host/x", tmp_path)
        access = media.reached(repository_access(repository_id=place.repository.id))
        assert access.credentials == {names.PASSWORD: SECRET}
        request = engine_request.info_request(access)
        assert request.repository.credentials == {names.PASSWORD: SECRET}
        assert SECRET not in f"{access!r}{request!r}{engine_request.engine_environment()}"
        assert credentials_for(place.location) == {}, "programs of people read their environment alone"
        assert env.text("SYNCOVA_WEBDAV_PASSWORD") is None
