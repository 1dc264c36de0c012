"""Whose directory `up` takes: never one that holds what is not ours, and none that was not plainly named (1.17)."""

import os
import socket
import stat
from pathlib import Path

import pytest

from syncova_project.embedded import accounts, claiming, layout
from syncova_project.embedded.problems import DataDirectoryError
from tests.embedded.stack import Bench

OWN = accounts.Account("me", os.geteuid(), os.getegid(), switched=False)


def everything(root: Path) -> dict[str, tuple[int, int, int]]:
    """Return mode, owner and group of all that is there."""
    found = {}
    for path in [root, *root.rglob("*")]:
        status = path.lstat()
        found[str(path)] = (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)
    return found


def somebodys(root: Path) -> Path:
    """Make a directory as others have them, with names that ours have as well."""
    root.mkdir(mode=0o777)
    root.chmod(0o1777)
    for name in ("logs", "tmp"):
        (root / name).mkdir(mode=0o755)
    (root / "f").touch()
    return root


@pytest.mark.parametrize("words", [(), ("-d",), ("--dry-run",)])
def test_a_directory_that_holds_something_else_is_refused_untouched(tmp_path, words):
    root = somebodys(tmp_path / "v")
    before = everything(root)
    done = Bench(root).run("up", *words, "--port", "0")
    assert done.returncode == 1
    assert "not Syncova's: it holds f" in done.stderr
    assert everything(root) == before


@pytest.mark.parametrize("words", [("-d",), ("--dry-run",), ()])
def test_a_taken_port_is_found_before_anything_is_made(tmp_path, words):
    """A dry run refuses what `up` refuses."""
    tmp_path.chmod(0o711)
    (tmp_path / "empty").mkdir(mode=0o700)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for root in (tmp_path / "new", tmp_path / "empty"):
            done = Bench(root).run("up", *words, "--port", port)
            assert (done.returncode, done.stdout) == (1, "")
            assert "is taken by another program" in done.stderr
    assert not (tmp_path / "new").exists()
    assert everything(tmp_path / "empty") == {str(tmp_path / "empty"): (0o700, os.geteuid(), os.getegid())}


def test_a_dry_run_refuses_an_address_that_is_not_ours(tmp_path):
    tmp_path.chmod(0o711)
    done = Bench(tmp_path / "new").run("up", "-n", "--bind", "203.0.113.7", "--insecure")
    assert done.returncode == 1
    assert "203.0.113.7 port 8760 cannot be listened on" in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("named", ["", "relative", "./x"])
@pytest.mark.parametrize("command", ["up", "down", "status", "logs"])
def test_an_empty_or_relative_name_is_refused(tmp_path, command, named):
    """`--data "$UNSET"` must not mean the present directory."""
    bench = Bench(tmp_path)
    argv = [word if word != str(tmp_path) else named for word in bench.argv(command)]
    done = bench.run_argv(argv, directory=tmp_path)
    assert done.returncode == 2
    assert "is no absolute path" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["up", "down", "status", "logs"])
def test_a_file_is_named_as_no_directory(tmp_path, command):
    (tmp_path / "file").touch()
    bench = Bench(tmp_path / "file")
    by_name = bench.run(command)
    bench.variables["SYNCOVA_DATA_DIR"] = str(bench.layout.root)
    by_setting = bench.run_argv(
        [word for word in bench.argv(command) if word not in ("--data", str(tmp_path / "file"))]
    )
    for done in (by_name, by_setting):
        assert done.returncode == 1
        assert f"{tmp_path}/file is not a directory" in done.stderr


def test_logs_of_nothing_fail(tmp_path):
    done = Bench(tmp_path / "nope").run("logs")
    assert done.returncode == 1
    assert "nothing was started there" in done.stderr


def test_an_empty_directory_is_taken_and_known_again(tmp_path):
    """A fresh file system has lost+found, and an operator may have written the settings before."""
    root = tmp_path / "data"
    (root / "lost+found").mkdir(parents=True)
    (root / "syncova.env").write_text("SYNCOVA_TICK_SECONDS=5\n")
    layout.prepare(layout.Layout(root), OWN)
    assert (root / claiming.STAMP).is_file()
    (root / "kept by somebody").touch()
    layout.prepare(layout.Layout(root), OWN)


@pytest.mark.parametrize(
    "made", [("state/owner.lock",), ("servers/postgres/PG_VERSION",), ("programs/", "secrets/", "logs/", "state/")]
)
def test_a_data_directory_from_before_there_was_a_stamp_goes_on(tmp_path, made):
    for name in made:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.touch()
    (tmp_path / "data" / "other").touch()
    layout.prepare(layout.Layout(tmp_path / "data"), OWN)
    assert (tmp_path / "data" / claiming.STAMP).is_file()


def test_a_link_in_place_of_the_stamp_is_not_followed(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / claiming.STAMP).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataDirectoryError, match="not Syncova's"):
        layout.prepare(layout.Layout(tmp_path / "data"), OWN)
    assert not (tmp_path / "elsewhere").exists()
