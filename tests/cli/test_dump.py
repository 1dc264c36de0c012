"""syncova-repo dump: bytes and archives on standard output or in a file, never on a terminal, never half a file."""

import json
import os
import pty
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.ids import ChunkKind
from repositories.engine.process.spawn import child_environment
from repositories.engine.repository import open_repository
from repositories.engine.storage.local import LocalStorage
from tests.cli.programs import Programs, hostile_tree
from tests.engine.repositories import PASSWORD, entry_of
from tests.engine.trees import pattern
from tests.tree_facts import facts

LARGE = 3_000_000


@pytest.fixture
def tree(programs: Programs, tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "below").mkdir(parents=True)
    (path / "below" / "file").write_bytes(b"\x1b[31mbinary\xff\0")
    (path / "large").write_bytes(pattern(LARGE))
    os.link(path / "below" / "file", path / "twin")
    assert programs.back_up(path).code == exits.DONE
    return path


def command(programs: Programs, *words: str | Path) -> list[str]:
    rest = ["dump", "-r", str(programs.repository), "--password-file", str(programs.password_file), *map(str, words)]
    return [sys.executable, "-P", "-m", "repositories.cli", *rest]


def dump(programs: Programs, *words: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(programs, *words), env=child_environment(), capture_output=True, check=False)


def test_a_file_is_its_bytes_and_a_directory_an_archive(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """2.11"""
    assert dump(programs, "latest", "below/file", "-q").stdout == (tree / "below" / "file").read_bytes()
    assert dump(programs, "latest", tree / "large").stdout == pattern(LARGE)
    (tmp_path / "out").mkdir()
    whole = dump(programs, "latest")
    assert (whole.returncode, b"of" in whole.stderr) == (exits.DONE, True)
    subprocess.run(["tar", "-xpf", "-", "-C", str(tmp_path / "out")], input=whole.stdout, check=True)
    assert facts(tmp_path / "out") == facts(tree)
    part = dump(programs, "latest", "below", "--output", tmp_path / "below.tar")
    assert (part.returncode, part.stdout) == (exits.DONE, b"")
    with tarfile.open(tmp_path / "below.tar") as tar:
        assert tar.getnames() == ["below", "below/file"]
    single = dump(programs, "latest", "large", "--format", "tar", "-o", tmp_path / "large.tar")
    assert single.returncode == exits.DONE
    with tarfile.open(tmp_path / "large.tar") as tar:
        assert [(member.name, member.size) for member in tar] == [("large", LARGE)]


def test_the_object_of_json_and_what_makes_no_sense(programs: Programs, tree: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.tar"
    told = programs.repo("dump", programs.repository, "latest", "below", "--output", target, "--json").json
    assert (told["path"], told["format"], told["members"], told["damaged"]) == ("below", "tar", 2, 0)
    assert target.stat().st_mode & 0o777 == 0o600
    before = target.read_bytes()
    for words, said in (
        (("latest", "--json"), "--output"),
        (("latest", "below", "--output", str(target)), "exists already"),
        (("latest", "below", "--format", "raw"), "no regular file"),
        (("latest", "below", "--format", "zip"), "no format"),
        (("latest", "nothing"), "not in backup"),
        (("latest", "../x"), "without .."),
        (("latest", "below", "--output", ""), "empty"),
    ):
        ended = programs.repo("dump", "-r", programs.repository, *words)
        assert ended.code == exits.USAGE, words
        assert said in ended.err, words
    assert target.read_bytes() == before
    full = programs.repo("dump", programs.repository, "latest", "large", "--output", "/dev/full")
    assert (full.code, "No space left" in full.err) == (exits.FAILED, True)
    nowhere = programs.repo("dump", programs.repository, "latest", "large", "--output", tmp_path / "no" / "file")
    assert (nowhere.code, "No such file" in nowhere.err) == (exits.FAILED, True)
    assert tree.exists()


def test_nothing_is_written_to_a_terminal(programs: Programs, tree: Path) -> None:
    """What a backup holds could command the terminal."""
    primary, secondary = pty.openpty()
    try:
        words = command(programs, "latest", "below/file", "-q")
        ended = subprocess.run(words, env=child_environment(), stdout=secondary, stderr=subprocess.PIPE, check=False)
        os.set_blocking(primary, False)
        with pytest.raises(BlockingIOError):
            os.read(primary, 100)
    finally:
        os.close(primary)
        os.close(secondary)
    assert ended.returncode == exits.USAGE
    assert b"--output" in ended.stderr
    assert tree.exists()


def test_a_reader_that_goes_away_ends_it_quietly_and_a_lease_keeps_prunes_away(programs: Programs, tree: Path) -> None:
    """engine.md 5: a session of a reader that must not lose packs has a lease."""
    words = command(programs, "latest", "-q")
    with subprocess.Popen(words, env=child_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(10)
        # The archive is larger than a pipe: the program waits for its reader.
        assert len(list((programs.repository / "sessions").iterdir())) == 1
        process.stdout.close()
        said = process.stderr.read()
        code = process.wait(60)
    assert (code, said) == (exits.FAILED, b"")
    assert list((programs.repository / "sessions").iterdir()) == []
    assert tree.exists()


def hurt(programs: Programs, path: bytes) -> None:
    """Damage the first chunk of a file."""
    repository = open_repository(LocalStorage(str(programs.repository)), PASSWORD)
    chunk = (entry_of(repository, path).extents or ())[0]
    assert isinstance(chunk, bytes)
    place = repository.reader().locate(ChunkKind.DATA, chunk)
    assert place is not None
    pack = programs.repository / "packs" / place.pack.hex()[:2] / place.pack.hex()
    pack.chmod(0o600)
    with pack.open("r+b") as file:
        file.seek(place.place.record.offset + place.place.record.length // 2)
        file.write(b"\xa5" * 8)


def test_damage_ends_with_13_and_no_half_file_stays(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """2.11: never silently wrong."""
    hurt(programs, b"large")
    target = tmp_path / "a.tar"
    ended = programs.repo("dump", programs.repository, "latest", "--output", target)
    assert ended.code == exits.INTEGRITY
    assert "cannot be read" in ended.err
    assert "--skip-damaged" in ended.err
    assert not target.exists()
    piped = dump(programs, "latest")
    assert piped.returncode == exits.INTEGRITY
    listed = subprocess.run(["tar", "-tf", "-"], input=piped.stdout, capture_output=True, check=False)
    assert listed.returncode == 2
    left = programs.repo("dump", programs.repository, "latest", "--output", target, "--skip-damaged", "--json")
    assert left.code == exits.INTEGRITY
    assert {"path": "large"} in left.json["damaged_paths"]
    assert "damaged, left out: large" in left.err
    with tarfile.open(target) as tar:
        assert "large" not in tar.getnames()
    raw = programs.repo("dump", programs.repository, "latest", "large", "--output", tmp_path / "large")
    assert (raw.code, (tmp_path / "large").exists()) == (exits.INTEGRITY, False)
    assert tree.exists()


def test_an_interrupt_removes_the_file(programs: Programs, tree: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = command(programs, "latest", "-q", "--output", pipe)
    with subprocess.Popen(words, env=child_environment(), stderr=subprocess.PIPE) as process:
        with pipe.open("rb") as reader:
            assert reader.read(10)
            process.terminate()
            time.sleep(0)
            rest = reader.read()
        assert process.wait(60) == exits.TERMINATED
    assert pipe.exists()
    listed = subprocess.run(["tar", "-tf", "-"], input=rest, capture_output=True, check=False)
    assert listed.returncode == 2
    assert tree.exists()


def test_hostile_names_are_told_harmlessly(programs: Programs, tmp_path: Path) -> None:
    """1.22"""
    tree = hostile_tree(tmp_path / "\u202ehostile\n")
    programs.back_up(tree)
    for form in ((), ("--json",)):
        programs.repo(
            "dump", programs.repository, "latest", "--output", tmp_path / f"{len(form)}.tar", *form
        ).assert_harmless()
        refused = programs.repo("dump", "-r", programs.repository, "latest", "\x1b[31m", "--output", "x", *form)
        refused.assert_harmless()
        assert refused.code == exits.USAGE
    with tarfile.open(tmp_path / "0.tar", errors="surrogateescape") as tar:
        names = {os.fsencode(name) for name in tar.getnames()}
    assert names == {b".", *(os.fsencode(path.relative_to(tree)) for path in tree.rglob("*"))}
    assert json.dumps(sorted(map(repr, names)))
