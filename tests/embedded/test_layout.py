"""The data directory: what is refused and why, and that no mode is changed outside it."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from syncova_project.embedded import accounts, claiming, layout
from syncova_project.embedded.problems import DataDirectoryError, ServiceUserError, SocketPathTooLongError
from tests.private_servers import as_root

OWN = accounts.Account("me", os.geteuid(), os.getegid(), switched=False)
OTHER = accounts.Account("other", 54321, 54321, switched=True)


def test_a_fresh_directory_is_private(tmp_path):
    layout.prepare(layout.Layout(tmp_path / "data"), OWN)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").rglob("*")}
    assert modes.pop(tmp_path / "data" / claiming.STAMP) == 0o600
    assert set(modes.values()) == {0o700}
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_a_path_too_long_for_a_socket_is_refused_with_the_room_that_is_left(tmp_path):
    with pytest.raises(SocketPathTooLongError, match=r"has \d+ bytes; its sockets leave room for 89") as caught:
        layout.prepare(layout.Layout(tmp_path / ("ä" * 60)), OWN)
    assert "--data" in caught.value.hint
    assert not (tmp_path / ("ä" * 60)).exists()


def test_a_path_of_exactly_the_room_that_is_left_is_taken():
    layout._check_socket_paths(layout.Layout(Path("/" + "a" * 88)))
    with pytest.raises(SocketPathTooLongError):
        layout._check_socket_paths(layout.Layout(Path("/" + "a" * 89)))


def test_a_file_in_its_place_is_refused(tmp_path):
    (tmp_path / "data").write_text("")
    with pytest.raises(DataDirectoryError):
        layout.prepare(layout.Layout(tmp_path / "data"), OWN)


def test_a_link_in_place_of_a_directory_of_ours_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    claiming.claim(tmp_path / "data")
    (tmp_path / "data" / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataDirectoryError, match="symbolic link"):
        layout.prepare(layout.Layout(tmp_path / "data"), OWN)
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o755


@as_root
def test_a_directory_of_another_user_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    os.chown(tmp_path / "data", 54321, 54321)
    with pytest.raises(DataDirectoryError, match="belongs to user id 54321"):
        layout.prepare(layout.Layout(tmp_path / "data"), OWN)


@as_root
def test_a_directory_that_the_service_user_cannot_reach_is_refused_and_no_mode_is_changed(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with pytest.raises(DataDirectoryError, match="other, which may not pass"):
        layout.prepare(layout.Layout(home / "data"), OTHER)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_too_little_space_is_named_before_anything_is_written(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=10 << 20)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(DataDirectoryError, match="10 MiB free"):
        layout.prepare(layout.Layout(tmp_path / "data"), OWN)
    assert not (tmp_path / "data").exists()


def test_an_installation_goes_on_with_little_space_and_says_so(tmp_path, monkeypatch):
    place = layout.Layout(tmp_path / "data")
    layout.prepare(place, OWN)
    assert layout.space_warning(place) == ""
    place.postgres.mkdir()
    (place.postgres / "PG_VERSION").write_text("18")
    usage = shutil.disk_usage(tmp_path)._replace(free=10 << 20)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    layout.prepare(place, OWN)
    assert "only 10 MiB free" in layout.space_warning(place)


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path):
    place = layout.Layout(tmp_path / "data")
    layout.prepare(place, OWN)
    for directory in (place.scratch, place.own_scratch):
        (directory / "pymp-abc").mkdir()
        (directory / "pymp-abc" / "listener").write_text("")
        (directory / "kept").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (place.scratch / "pymp-link").symlink_to(tmp_path / "elsewhere")
    layout.clear_scratch(place)
    assert {path.name for path in place.own_scratch.iterdir()} == {"kept"}
    assert (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("path", ["servers/postgres/PG_VERSION", "secrets/valkey"])
def test_a_changed_mode_is_named_with_what_helps(tmp_path, path):
    """Another --data would begin an empty installation: no advice for one that exists."""
    (tmp_path / path).parent.mkdir(parents=True)
    error = layout.directory_error(tmp_path, PermissionError(13, "Permission denied", str(tmp_path / path)))
    assert path in error.message
    assert "its mode or owner was changed" in error.message
    assert "--data" not in error.hint
    assert "./syncova agent restore" in error.hint


@pytest.mark.parametrize(
    ("number", "words"), [(28, "No space is left"), (13, "may not be written"), (30, "may not be written")]
)
def test_what_the_system_refuses_becomes_a_sentence(number, words):
    assert words in layout.directory_error(Path("/data"), OSError(number, os.strerror(number), "/data/run")).message


def test_as_an_ordinary_user_servers_run_as_that_user(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 65534)
    monkeypatch.setattr("os.getegid", lambda: 65534)
    assert accounts.service_account("root") == accounts.Account("nobody", 65534, 65534, switched=False)


def test_a_user_without_an_entry_is_told_that_initdb_needs_one(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 54321)
    with pytest.raises(ServiceUserError, match="54321 has no entry"):
        accounts.service_account(None)


@as_root
def test_root_is_never_the_service_user():
    with pytest.raises(ServiceUserError, match="never run as root"):
        accounts.service_account("root")
    with pytest.raises(ServiceUserError, match="does not exist"):
        accounts.service_account("no-such-user")


@as_root
def test_nobody_is_the_last_resort_with_a_warning(monkeypatch):
    monkeypatch.setattr(accounts, "DEFAULT_NAME", "no-such-user")
    account = accounts.service_account(None)
    assert account.name == "nobody"
    assert account.switched
    assert "useradd" in account.warning
    assert accounts.service_account("nobody").warning == ""
