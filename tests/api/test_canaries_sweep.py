"""The sweep finds a canary wherever it got to, a session fails by one, and what may hold one is left alone (7.9)."""

import base64
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import canaries, suite
from tests.canaries_allowed import RULES, SECRET_FILE
from tests.canaries_sweep import Sweep
from tests.canaries_watch import MET, SESSION
from tests.private_servers import CLONE

REPOSITORY, LOGIN = canaries.repository_password("swept"), canaries.login_password("swept")
HOOK, SOURCE = canaries.hook_words("swept"), canaries.source_name("swept")
TOKEN = "_".join(("syncova", "0123456789ab", os.urandom(32).hex()))
FORMS = {
    "plain": lambda text: f"before {text} after".encode(),
    "hexadecimal": lambda text: b"\\x" + text.encode().hex().encode(),
    "base64": lambda text: base64.b64encode(b"keeper:" + text.encode()),
    "packed": lambda text: gzip.compress(f"before {text}".encode()),
    "far in": lambda text: bytes((4 << 20) - 9) + text.encode(),
}


def swept(place: Path, name: str, data: bytes, mode: int = 0o644) -> Sweep:
    """Sweep a directory with one file, and take it away: the session sweeps too."""
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    sweep = Sweep()
    sweep.tree(place)
    path.unlink()
    return sweep


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_in_a_log_is_found_in_every_form(tmp_path: Path, form: str) -> None:
    (found,) = swept(tmp_path, "logs/web.log", FORMS[form](REPOSITORY)).found
    assert "/logs/web.log" in found
    assert "repository: " in found
    assert canaries.STEM not in found


def test_what_lies_behind_a_hole_is_found(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
        file.seek(1 << 39)
        file.write(LOGIN.encode())
    sweep = Sweep()
    sweep.tree(tmp_path)
    path.unlink()
    assert f"offset {1 << 39}: login" in sweep.found[0]


@pytest.mark.parametrize("secret", [REPOSITORY, LOGIN, TOKEN])
@pytest.mark.parametrize(
    "place", ["servers/postgres/base/1/2", "servers/valkey/dump.rdb", "logs/work.log", "repo/pack"]
)
def test_a_secret_is_allowed_nowhere_but_alone_in_its_file(tmp_path: Path, secret: str, place: str) -> None:
    assert len(swept(tmp_path, place, f"x {secret} y".encode()).found) == 1


@pytest.mark.parametrize("words", [HOOK, SOURCE])
def test_what_runs_log_and_jobs_name_may_be_in_tables_and_in_no_log_of_a_server(tmp_path: Path, words: str) -> None:
    held = f"x {words} y".encode()
    assert swept(tmp_path, "servers/postgres/base/1/2", held).found == []
    for name in ("logs/postgres.log", "logs/work.log", "servers/valkey/dump.rdb"):
        assert len(swept(tmp_path, name, held).found) == 1, name


@pytest.mark.parametrize("secret", [REPOSITORY, TOKEN])
def test_a_file_of_one_secret_may_hold_it_and_one_of_the_products_only_closed(tmp_path: Path, secret: str) -> None:
    held = f"{secret}\n".encode()
    assert swept(tmp_path, "password", held).found == []
    assert swept(tmp_path, "secrets/ctl_token", held, 0o600).found == []
    assert len(swept(tmp_path, "secrets/ctl_token", held, 0o644).found) == 1


PARTS = {
    "file": "def test_one(tmp_path): (tmp_path / 'web.log').write_text(f'x {SECRET}')",
    "output": "def test_one(): print('x', SECRET)",
    "taken": "def test_one(capsys): print('x', SECRET); capsys.readouterr()",
    "child": "def test_one(): subprocess.run(['printf', 'x ' + SECRET], capture_output=True)",
    "nothing": "def test_one(tmp_path, capsys): (tmp_path / 'web.log').write_text('x'); print('x')",
}


@pytest.mark.parametrize("part", PARTS)
def test_a_session_fails_by_a_canary(tmp_path: Path, part: str) -> None:
    """A small session with the hooks of this one: its test passes, and the session does not."""
    (tmp_path / "conftest.py").write_text("from tests.canaries_watch import *\nwatch_children()\n")
    head = "import subprocess\nfrom tests import canaries\nSECRET = canaries.repository_password('x')\n"
    (tmp_path / "test_one.py").write_text(head + PARTS[part] + "\n")
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:django", "-c", os.devnull]
    argv += [f"--rootdir={tmp_path}", f"--basetemp={tmp_path / 't'}", str(tmp_path / "test_one.py")]
    variables = {name: value for name, value in os.environ.items() if name != "SYNCOVA_DATA_DIR"}
    variables["PYTHONPATH"] = str(CLONE)
    done = subprocess.run(argv, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    shutil.rmtree(tmp_path / "t", ignore_errors=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert (done.returncode, "repository: " in done.stdout) == ((0, False) if part == "nothing" else (1, True))


def test_a_canary_in_what_a_share_says_fails_the_suite(capsys: pytest.CaptureFixture[str]) -> None:
    """The suite looks at the output of both shares itself, also where a share's own session ended well."""
    shown = suite._show(io.StringIO(f"E  assert not '{LOGIN}'\n"))
    before = len(SESSION.found)
    assert suite._told_canaries([shown.sweep], [], whole=True) == 1
    assert "output of the suite, offset 15: login" in capsys.readouterr().out
    del SESSION.found[before:]


def test_a_whole_run_tells_the_rules_that_it_never_met(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / MET).write_text(json.dumps([RULES[0].name]))
    assert suite._told_canaries([], [str(tmp_path)], whole=True) == 0
    out = capsys.readouterr().out
    assert [rule.name for rule in RULES if repr(rule.name) in out] == [rule.name for rule in RULES[1:]]
    assert repr(SECRET_FILE) in out
