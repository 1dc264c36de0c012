"""Both programs refuse a location that names a place elsewhere, and never make a directory of that name."""

from pathlib import Path

import pytest

from repositories.console import exits
from tests.cli.programs import Programs


@pytest.mark.parametrize("location", ["s3:bucket/x", "sftp:user@host:/path", "user@host:path", "b2://bucket"])
def test_a_place_elsewhere_is_refused_by_every_command(
    programs: Programs, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    for ended in (
        programs.repo("create", location, "--json"),
        programs.repo("list", location, "--json"),
        programs.agent("backup", "-r", location, "--path", work, "--json"),
    ):
        assert (ended.code, ended.json["error"]["code"]) == (exits.USAGE, "LOCATION_NOT_AVAILABLE")
        assert "directory" in ended.json["error"]["hint"]
    assert list(work.iterdir()) == []


def test_a_directory_of_such_a_name_is_meant_by_a_dot(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    programs.repository.rename(tmp_path / "s3:bucket")
    assert programs.repo("list", "./s3:bucket", "--json").json["backups"] == []
