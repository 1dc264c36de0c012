"""Locations: what names a directory, what is refused although it could be the name of one, and that passwords are."""

from pathlib import Path

import pytest

from repositories.engine.errors import ConfigurationError, LocationNotAvailableError
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.locations import local_directory, open_storage


def test_a_path_is_local() -> None:
    storage = open_storage("/mnt/backups")
    assert isinstance(storage, LocalStorage)
    assert storage.path == "/mnt/backups"


@pytest.mark.parametrize(
    "location",
    ["repo", "a/b:c", "./s3:bucket", "../s3:bucket", "/mnt/s3:bucket", "/s3://x", ".x:y", "~no such user/a:b"],
)
def test_what_can_only_be_a_path_is_one(location: str) -> None:
    assert local_directory(location) == location


def test_a_home_directory_is_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    assert local_directory("~/repo:1") == "/home/alice/repo:1"


@pytest.mark.parametrize(
    ("location", "form"),
    [
        ("gs://bucket/prefix", "gs://"),
        ("SCP://user@host:22/path", "scp://"),
        ("ftp://host", "ftp://"),
        ("file:///mnt/backups", "file://"),
        ("s3:bucket/x", "s3:"),
        ("s3:https://host/bucket", "s3:"),
        ("b2:bucket", "b2:"),
        ("rest:http://host:8000/", "rest:"),
        ("sftp:user@host:/path", "sftp:"),
        ("rclone:remote:path", "rclone:"),
        ("host:path", "host:"),
        ("user@host:path", "user@host:path"),
        ("user@host:/srv/path", "user@host:path"),
        ("[fe80::1]:path", "user@host:path"),
        (r"C:\backups", r"C:\path"),
        ("c:/backups", r"c:\path"),
        (r"\\server\share", r"\\server\share"),
    ],
)
def test_a_place_elsewhere_is_refused(
    location: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a local directory of that name, which looks like a backup far away."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LocationNotAvailableError) as caught:
        open_storage(location).prepare()
    assert f"locations of the form {form} are not available" in caught.value.message
    assert (caught.value.code, caught.value.exit_code) == ("LOCATION_NOT_AVAILABLE", 2)
    assert "such as /mnt/backups" in caught.value.hint
    assert "s3://BUCKET/PREFIX" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_the_way_to_mean_a_directory_is_told_and_works() -> None:
    with pytest.raises(LocationNotAvailableError) as caught:
        local_directory("s3:bucket/x")
    assert caught.value.hint.endswith("is ./s3:bucket/x")
    assert local_directory("./s3:bucket/x") == "./s3:bucket/x"


@pytest.mark.parametrize(
    "location",
    [
        "sftp://user:secret@host/path",
        "s3://key:secret@bucket",
        "s3://secret@bucket",
        "s3://bucket/x?secret_access_key=secret",
        "s3://bucket/x?endpoint=https://key:secret@host",
        "webdavs://u:secret@h/",
        "webdavs://h/x?password=secret",
        "sftp://u@h/x#secret",
        "s3:key:secret@bucket",
        "s3:key:secret",
        "user:secret@host:path",
        "https://host/?secret",
    ],
)
def test_a_password_in_a_location_is_not_repeated(location: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_storage(location)
    assert "secret" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("location", ["sftp://user:secret@host/path", "ftp://user:secret@host/path"])
def test_a_password_in_a_location_is_named_as_the_reason(location: str) -> None:
    with pytest.raises(ConfigurationError, match="holds a password"):
        open_storage(location)


@pytest.mark.parametrize("location", ["", "a\0b"])
def test_nothing_is_no_location(location: str) -> None:
    with pytest.raises(ConfigurationError, match="is empty"):
        open_storage(location)
