"""Downloads of a file of a backup: its exact bytes, or where to get them; audited, and never shown as a page (7.4)."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobs import backup_content
from jobs.backup_content import Content, ContentBrokenOffError, command_for
from repositories.engine.process.protocol import ErrorInfo, Failed
from repositories.models import Backup
from syncova_project.access.models import AuditEntry
from syncova_project.web import long_answers
from tests.api.client import Answer, ApiClient
from tests.repositories.builders import make_backup, make_repository
from tests.workers import scenario
from tests.workers.harness import PROJECT
from tests.workers.scenario import PASSWORD, Ground
from tests.workers.test_executor import execute, request_for

pytestmark = pytest.mark.django_db

LARGE = os.urandom(700_000) * 3
HOSTILE = "..\r\nX-Evil: 1; \"ü\\'.html"


@pytest.fixture
def backup(place: Ground) -> Backup:
    tree = place.directory / "source"
    tree.mkdir()
    (tree / "large").write_bytes(LARGE)
    (tree / HOSTILE).write_bytes(b"<script>")
    assert execute(request_for(place, tree)).failure is None
    return Backup.objects.get()


def address(backup: Backup, path: str) -> str:
    return f"repositories/{backup.repository_id}/backups/{backup.id}/content?path={path}"


def ask(backup: Backup, path: str, *scopes: str) -> Answer:
    return ApiClient(*scopes).get(address(backup, path))


def download(backup: Backup, path: str) -> tuple[Any, bytes]:
    client = ApiClient("backups.read_content")
    response: Any = client.client.get(
        f"/api/v1/{address(backup, path)}", headers=client.headers | {"Accept": "image/png"}
    )
    assert response.status_code == 200, response.content
    content = b"".join(response.streaming_content)
    for close in response._resource_closers:
        close()
    return response, content


def test_a_file_comes_whole_as_an_attachment_and_is_audited_and_nothing_else_comes(backup: Backup) -> None:
    response, content = download(backup, "large")
    assert content == LARGE
    assert response["Content-Length"] == str(len(LARGE))
    assert (response["Content-Type"], response["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")
    assert response["Content-Disposition"] == 'attachment; filename="large"'
    assert "default-src 'none'" in response["Content-Security-Policy"]
    entry = AuditEntry.objects.get(action="backup.read_content")
    assert entry.actor.startswith("token:tester")
    assert (entry.subject_id, entry.details["path"], entry.details["bytes"]) == (str(backup.id), "large", len(LARGE))
    response, content = download(backup, "..%0D%0AX-Evil:%201;%20%22%C3%BC%5C'.html")
    assert content == b"<script>"
    assert response["Content-Disposition"].startswith("attachment; filename")
    assert "X-Evil" not in response.headers
    assert "\n" not in response["Content-Disposition"]
    ask(backup, "none").refused(404, "PATH_NOT_IN_BACKUP")
    error = ask(backup, "").refused(400, "VALIDATION_FAILED")
    assert (error["details"], error["message"].split(" is ")[0]) == ({"path": ["Is no regular file."]}, "/")
    others = ("repositories.read", "runs.read", "restores.run", "repositories.write")
    ask(backup, "large", *others).refused(403, "PERMISSION_DENIED")
    assert ApiClient().request("HEAD", address(backup, "large")).status == 405
    assert AuditEntry.objects.filter(action="backup.read_content").count() == 2
    # Every place was given back.
    assert long_answers.PLACES._held == 0


def part(backup: Backup, **headers: str) -> tuple[Any, bytes]:
    """Download `large` with these headers, their underscores as dashes."""
    client = ApiClient("backups.read_content")
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    response: Any = client.client.get(f"/api/v1/{address(backup, 'large')}", headers=client.headers | sent)
    content = b"".join(response.streaming_content) if response.streaming else response.content
    for close in response._resource_closers:
        close()
    return response, content


def test_one_stretch_of_a_file_is_sent_when_it_is_asked_for(backup: Backup) -> None:
    """RFC 9110: 206 with the place of the bytes; a broken download goes on where it ended, of the same file alone."""
    whole, _ = part(backup)
    tag, size = whole["ETag"], len(LARGE)
    assert (whole.status_code, whole["Accept-Ranges"], tag[0], "Content-Range" in whole) == (200, "bytes", '"', False)
    for asked, first, last in (
        ("bytes=0-0", 0, 0),
        ("bytes=699990-1400010", 699_990, 1_400_010),
        ("bytes=2000000-", 2_000_000, size - 1),
        ("bytes=-5", size - 5, size - 1),
        (f"bytes=-{size + 1}", 0, size - 1),
        ("Bytes = 7-999999999999", 7, size - 1),
    ):
        response, content = part(backup, Range=asked, If_Range=tag)
        assert (response.status_code, response["ETag"], content) == (206, tag, LARGE[first : last + 1]), asked
        assert response["Content-Range"] == f"bytes {first}-{last}/{size}"
        assert response["Content-Length"] == str(last + 1 - first)
    entry = AuditEntry.objects.filter(action="backup.read_content").order_by("id")[1]
    assert (entry.details["first_byte"], entry.details["bytes"]) == (0, 1)
    for headers in ({"Range": "bytes=0-1,4-5"}, {"Range": "bytes=5-4"}, {"Range": "lines=1-2"}, {"Range": "bytes=-"}):
        response, content = part(backup, **headers)
        assert (response.status_code, content) == (200, LARGE), headers
    for other in ('"another"', f"W/{tag}", "Mon, 30 Nov 2026 02:00:00 GMT"):
        response, content = part(backup, Range="bytes=0-1", If_Range=other)
        assert (response.status_code, len(content)) == (200, size), other
    assert long_answers.PLACES._held == 0


def test_who_has_it_already_is_sent_nothing(backup: Backup, place: Ground) -> None:
    """RFC 9110: before Range, and for `*` where there is such a file; read is nothing, and no entry says so."""
    whole, _ = part(backup)
    for had in (whole["ETag"], f'"x", W/{whole["ETag"]}', "*"):
        response, content = part(backup, If_None_Match=had, Range="bytes=0-1")
        assert (response.status_code, response["ETag"], content) == (304, whole["ETag"], b""), had
    assert part(backup, If_None_Match='"x"', Range="bytes=0-1")[0].status_code == 206
    ApiClient().get(address(backup, "none"), **{"If-None-Match": "*"}).refused(404, "PATH_NOT_IN_BACKUP")
    assert AuditEntry.objects.filter(action="backup.read_content").count() == 2
    assert long_answers.PLACES._held == 0


def test_a_stretch_beyond_the_file_is_refused_with_its_size(backup: Backup) -> None:
    count = AuditEntry.objects.filter(action="backup.read_content").count()
    for asked in (f"bytes={len(LARGE)}-", "bytes=-0"):
        answer = ApiClient().get(address(backup, "large"), Range=asked)
        assert answer.refused(416, "RANGE_NOT_SATISFIABLE")["details"] == {"size": len(LARGE)}
        assert answer.headers["Content-Range"] == f"bytes */{len(LARGE)}"
    assert AuditEntry.objects.filter(action="backup.read_content").count() == count
    assert long_answers.PLACES._held == 0


def test_where_the_server_does_not_reach_it_the_command_to_type_does(backup: Backup, place: Ground) -> None:
    """execution.md, section 3: 409 with the command to type; and that command gives the file."""
    place.directory.joinpath("repository").rename(place.directory / "elsewhere")
    error = ask(backup, "large").refused(409, "REPOSITORY_NOT_REACHABLE")
    place.directory.joinpath("elsewhere").rename(place.directory / "repository")
    assert error["details"]["worker_group"] == "direct"
    first, second, *words = shlex.split(error["details"]["command"])
    assert (first, second) == ("./syncova", "repo")
    (place.directory / "password").write_bytes(PASSWORD)
    (place.directory / "password").chmod(0o600)
    given = ["--password-file", str(place.directory / "password")]
    program = [sys.executable, "-m", "repositories.cli", *words, *given]
    subprocess.run(program, cwd=place.directory, env={**os.environ, "PYTHONPATH": str(PROJECT)}, check=True)
    assert (place.directory / "large").read_bytes() == LARGE
    # Nor is another repository in its place read.
    os.rename(place.location, place.directory / "mine")
    scenario.new_repository(Path(place.location))
    ask(backup, "large").refused(409, "REPOSITORY_NOT_REACHABLE")


def test_remote_media_are_the_workers_alone() -> None:
    backup = make_backup(make_repository(location="s3:https://s3.example.org/bucket/vault"))
    error = ask(backup, "a").refused(409, "REPOSITORY_NOT_REACHABLE")
    assert error["details"]["command"].startswith("./syncova repo dump s3:https://s3.example.org/bucket/vault ")


def test_a_download_that_breaks_off_is_short_and_leaves_nothing(
    backup: Backup, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Content(backup, b"large", lambda: None)
    next(content)
    process = content._process
    assert process.kill()
    with pytest.raises(ContentBrokenOffError) as broken:
        b"".join(content)
    assert broken.value.code == "CONTENT_BROKEN_OFF"
    content.close()
    content = Content(backup, b"large", lambda: None)
    next(content)
    content.close()
    content.close()
    assert content._process.returncode is not None
    assert long_answers.PLACES._held == 0
    monkeypatch.setattr(backup_content, "SILENT_SECONDS", 0.0)
    ask(backup, "large").refused(409, "REPOSITORY_NOT_REACHABLE")


def test_downloads_have_few_places(settings: Any) -> None:
    settings.SYNCOVA_LONG_ANSWERS = 0
    ask(make_backup(make_repository()), "a").refused(429, "TOO_MANY_LONG_ANSWERS")


@pytest.mark.parametrize("path", [b"a b", b"-rf", b"x'y", b"new\nline\xff", "ü".encode(), b"$(reboot)"])
def test_the_command_is_for_every_name_what_a_shell_takes_for_it(path: bytes) -> None:
    backup = make_backup(make_repository(location="/srv/a b"))
    command = command_for(backup, path)
    assert command is not None
    assert command.isprintable()
    told = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True).stdout
    words = told.split(b"\0")
    assert words[3] == b"/srv/a b"
    assert words[5].removeprefix(b"./") == path
    assert not words[5].startswith(b"-")
    assert command_for(backup, b"x" * 1000) is None


@pytest.mark.parametrize("code", ["INTEGRITY", "ENGINE_LOST"])
def test_what_the_engine_itself_says_is_told_as_that(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Failed(error=ErrorInfo(code=code, message="a page is damaged"))
    monkeypatch.setattr(Content, "_awaited", lambda _content: failed)
    error = ask(make_backup(make_repository()), "large").refused(409, "LOOKUP_FAILED")
    assert error["details"] == {"code": code}


def test_the_child_is_the_same_interpreter_and_gets_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service user's web runs a copy of Python, which finds neither its libraries nor ours by itself."""
    for name in ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "SYNCOVA_SECRET_KEYS"):
        monkeypatch.setenv(name, f"/copy/{name}")
    told = backup_content._environment()
    assert told["PYTHONPATH"] == f"{PROJECT}:/copy/PYTHONPATH"
    assert (told["PYTHONHOME"], told["LD_LIBRARY_PATH"]) == ("/copy/PYTHONHOME", "/copy/LD_LIBRARY_PATH")
    assert "SYNCOVA_SECRET_KEYS" not in told
