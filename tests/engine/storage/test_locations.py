"""Locations: what opens, and that passwords are refused."""

import pytest

from repositories.engine.errors import ConfigurationError
from repositories.engine.storage.local import LocalStorage
from repositories.engine.storage.locations import open_storage


def test_a_path_is_local() -> None:
    storage = open_storage("/mnt/backups")
    assert isinstance(storage, LocalStorage)
    assert storage.path == "/mnt/backups"


@pytest.mark.parametrize("location", ["sftp://user:secret@host/path", "s3://key:secret@bucket", "webdavs://u:p@h/"])
def test_a_password_in_a_location_is_refused_and_not_repeated(location: str) -> None:
    with pytest.raises(ConfigurationError, match="password") as caught:
        open_storage(location)
    assert "secret" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("location", ["", "s3://bucket/prefix", "sftp://user@host:22/path", "ftp://host", "a\0b"])
def test_what_is_not_offered_is_refused(location: str) -> None:
    with pytest.raises(ConfigurationError):
        open_storage(location)
