"""The programs on remote repositories: everything a user does, on real servers, and what goes wrong (4.6, 4.8, 4.9)."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from repositories.engine.storage import credentials as names
from repositories.engine.storage.locations import open_storage
from tests.cli.programs import Programs
from tests.engine.repositories import make_repository
from tests.engine.storage.servers import KEY_ID, SECRET, Server
from tests.engine.trees import pattern

VARIABLES = {
    names.ACCESS_KEY_ID: "AWS_ACCESS_KEY_ID",
    names.SECRET_ACCESS_KEY: "AWS_SECRET_ACCESS_KEY",
    names.PASSWORD: "",
    names.KEY_FILE: "SYNCOVA_SFTP_KEY",
    names.KNOWN_HOSTS: "SYNCOVA_SFTP_KNOWN_HOSTS",
}
PASSWORDS = {"webdav": "SYNCOVA_WEBDAV_PASSWORD", "sftp": "SYNCOVA_SFTP_PASSWORD"}


@pytest.fixture(autouse=True)
def no_credentials_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SSH_AUTH_SOCK", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def allow(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give the credentials as a user does: secrets by files."""
    for name, value in server.credentials.values.items():
        variable = VARIABLES[name] or PASSWORDS[server.kind]
        if name in (names.KEY_FILE, names.KNOWN_HOSTS):
            monkeypatch.setenv(variable, value)
            continue
        path = tmp_path / f"{variable}.secret"
        path.write_text(value + "\n")
        monkeypatch.setenv(f"{variable}_FILE", str(path))


def made_on(server: Server, name: str) -> str:
    """Make a repository whose key is cheap to derive; return its location."""
    make_repository(open_storage(server.location(name), server.credentials))
    return server.location(name)


def make_tree(tree: Path) -> None:
    (tree / "below").mkdir(parents=True)
    (tree / "small").write_bytes(b"hello")
    (tree / "below" / "large").write_bytes(pattern(3_000_000))
    (tree / "link").symlink_to("small")


@pytest.mark.parametrize("kind", ["webdav", "sftp", "openssh"])
def test_the_credentials_of_each_kind_open_it(
    kind: str, server_of: Callable[[str], Server], programs: Programs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """4.8: by files and variables, for what runs here and for the engine's child."""
    server = server_of(kind)
    allow(server, monkeypatch, tmp_path)
    place = made_on(server, "credentials")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"hello")
    done = programs.agent("backup", "-r", place, "--path", tmp_path / "tree")
    assert done.code == 0, done.err
    assert len(programs.repo("list", place, "--json").json["backups"]) == 1


def test_a_repository_lives_on_a_server(
    server_of: Callable[[str], Server], programs: Programs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """4.6: create, back up, look, check, restore, forget, prune, all by the programs."""
    server = server_of("s3")
    allow(server, monkeypatch, tmp_path)
    place = server.location("programs")
    make_tree(tmp_path / "tree")
    made = programs.repo("create", place)
    assert made.code == 0, made.err
    assert programs.repo("create", place).code == 1, "it is there already"
    for content in (b"one", b"two"):
        (tmp_path / "tree" / "changing").write_bytes(content)
        done = programs.agent("backup", "-r", place, "--path", tmp_path / "tree", "--json")
        assert done.code == 0, done.err
    listed = programs.repo("list", place, "--json").json["backups"]
    assert len(listed) == 2
    words = ("--backup", "latest", "--target", tmp_path / "back", "--bandwidth", "100MB")
    back = programs.agent("restore", "-r", place, *words)
    assert back.code == 0, back.err
    assert subprocess.run(["diff", "-r", tmp_path / "tree", tmp_path / "back"], check=False).returncode == 0
    assert programs.repo("forget", place, listed[0]["id"], "-y").code == 0
    assert programs.repo("prune", place).code == 0
    checked = programs.repo("check", place, "--read-data")
    assert checked.code == 0, checked.out + checked.err
    assert len(programs.repo("list", place, "--json").json["backups"]) == 1


@pytest.mark.parametrize("kind", ["s3", "webdav", "sftp"])
def test_wrong_credentials_are_told_with_the_next_step_and_never_shown(
    kind: str, server_of: Callable[[str], Server], programs: Programs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """4.7, 4.8: at once an error, and no credential in it."""
    allow(server_of(kind), monkeypatch, tmp_path)
    variable = {"s3": "AWS_SECRET_ACCESS_KEY", **PASSWORDS}[kind]
    monkeypatch.delenv(f"{variable}_FILE")
    monkeypatch.setenv(variable, "canary-wrong-9f3b")
    ended = programs.repo("list", server_of(kind).location("refused"), "-v", "--json")
    assert ended.code == 1
    assert ended.json["error"]["code"] == "REPOSITORY_REFUSED", ended.json
    assert ended.json["error"]["hint"]
    for secret in ("canary-wrong-9f3b", SECRET, KEY_ID):
        assert secret not in ended.out + ended.err


def test_a_missing_bucket_and_a_missing_repository_are_told_apart(
    server_of: Callable[[str], Server], programs: Programs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = server_of("s3")
    allow(server, monkeypatch, tmp_path)
    ended = programs.repo("list", server.location("nothing"), "--json")
    assert (ended.code, ended.json["error"]["code"]) == (10, "REPOSITORY_NOT_FOUND")
    ended = programs.repo("create", server.location("x").replace("//backups/", "//no-such-bucket/"), "--json")
    assert (ended.code, ended.json["error"]["code"]) == (1, "REPOSITORY_PLACE_MISSING"), ended.json


def test_credentials_are_asked_for_before_anything_is_sent(programs: Programs) -> None:
    ended = programs.repo("list", "s3://bucket/x?endpoint=http://127.0.0.1:9", "--json")
    assert (ended.code, ended.json["error"]["code"]) == (1, "REPOSITORY_REFUSED")
    assert "AWS_ACCESS_KEY_ID" in ended.json["error"]["hint"]


@pytest.mark.parametrize(
    ("location", "module", "extra"),
    [
        ("s3://bucket/x", "opendal", "s3"),
        ("webdavs://host/x", "opendal", "webdav"),
        ("sftp://me@host/x", "asyncssh", "sftp"),
    ],
)
def test_a_location_without_its_extra_names_the_command(
    location: str, module: str, extra: str, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4.9"""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")

    real = importlib.import_module

    def lacking(name: str, package: str | None = None) -> ModuleType:
        if name.partition(".")[0] == module:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", lacking)
    ended = programs.repo("list", location, "--json")
    assert (ended.code, ended.json["error"]["code"]) == (2, "EXTRA_MISSING"), module
    assert ended.json["error"]["hint"] == f"install it with: ./syncova install {extra}"


def test_no_credential_is_in_the_process_list_or_in_any_output(
    server_of: Callable[[str], Server], programs: Programs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """4.8: canaries in arguments of any process of a backup, while it runs, and in all that it says."""
    server = server_of("s3")
    allow(server, monkeypatch, tmp_path)
    place = made_on(server, "canary")
    make_tree(tmp_path / "tree")
    words = ["backup", "-r", place, "--path", str(tmp_path / "tree"), "--bandwidth", "2MB", "-v", "--progress", "json"]
    words += ["--password-file", str(programs.password_file)]
    with subprocess.Popen(
        [sys.executable, "-m", "agents.runtime", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        seen: set[bytes] = set()
        while process.poll() is None:
            seen |= arguments_of_all()
        assert process.stdout is not None
        said = process.stdout.read()
    assert process.returncode == 0, said
    assert any(b"repositories.engine.process" in each for each in seen), "the engine was seen"
    for secret in (SECRET.encode(), KEY_ID.encode()):
        assert not [each for each in seen if secret in each]
        assert secret not in said


def arguments_of_all() -> set[bytes]:
    found: set[bytes] = set()
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.add(Path("/proc", number, "cmdline").read_bytes())
        except OSError:
            continue
    return found
