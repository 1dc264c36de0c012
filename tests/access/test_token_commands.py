"""The token commands of `manage`: a token is printed once or lies in a 0600 file, never both."""

import io
import stat
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from syncova_project import clock
from syncova_project.access.models import ApiToken
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.selectors import token_find

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    output = io.StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def test_a_printed_token_works_and_has_all_rights_by_default() -> None:
    token = token_find(text=run("token_create", "ops").strip(), now=clock.now())
    assert token is not None
    assert token.scopes == sorted(ALL_SCOPES)


def test_a_token_in_a_file_is_not_printed(tmp_path: Path) -> None:
    file = tmp_path / "token"
    printed = run("token_create", "ops", "--scope", "jobs.read", "--file", str(file))
    plain = file.read_text().strip()
    assert plain not in printed
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = token_find(text=plain, now=clock.now())
    assert token is not None
    assert token.scopes == ["jobs.read"]


def test_a_file_that_exists_is_kept_and_no_token_is_made(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("precious")
    with pytest.raises(CommandError, match=r"File exists\. No token was made"):
        run("token_create", "ops", "--file", str(file))
    assert file.read_text() == "precious"
    assert not ApiToken.objects.exists()


def test_no_file_is_left_of_a_token_that_was_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        run("token_create", "", "--file", str(tmp_path / "token"))
    with pytest.raises(CommandError, match="no worker group defualt"):
        run("token_create", "x", "--worker-group", "defualt", "--file", str(tmp_path / "token"))
    assert not (tmp_path / "token").exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CommandError):
        run("token_create", "ops", "--file", str(tmp_path / "token"))
    assert not (tmp_path / "elsewhere").exists()


def test_tokens_are_listed_by_prefix_and_revoked_by_it() -> None:
    plain = run("token_create", "ops").strip()
    prefix = plain.split("_")[1]
    # A name from before names were judged.
    ApiToken.objects.update(name="ops\x1b[31m")
    listed = run("token_list")
    assert prefix in listed
    assert "live" in listed
    assert "\x1b" not in listed
    assert plain not in listed
    run("token_revoke", prefix)
    assert "dead" in run("token_list")
    with pytest.raises(CommandError):
        run("token_revoke", "unknown")
