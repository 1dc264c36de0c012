"""docs/restore_without_syncova.py restores a real repository, alone (1.8, A9, 1.20)."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.ids import ChunkKind, short_id
from repositories.engine.keys.recovery import format_recovery_code
from repositories.engine.manifest.entries import EntryType, StreamRef, encode
from repositories.engine.manifest.pages import Group, encode_leaf
from repositories.engine.repository import CreateOptions, Repository, create_repository, open_repository
from repositories.engine.storage.local import LocalStorage
from tests.engine.repositories import CHEAP, PASSWORD, back_up_tree
from tests.engine.restore.test_hostile import ATTACKS, Tree, commit, entry
from tests.engine.trees import assert_same, build_everything, describe, remove_deep
from tests.tree_facts import facts

PROGRAM = Path(__file__).parents[2] / "docs" / "restore_without_syncova.py"
HOSTILE = [b"\x1b[31mred\n", b"invalid\xff\xfe", "rtl\u202egpj.exe".encode(), b"[bold]markup[", b"back\\slash", b" "]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "directory" / "deeper").mkdir(parents=True)
    (path / "empty").mkdir(mode=0o750)
    for name in HOSTILE:
        (Path(os.fsdecode(bytes(path))) / os.fsdecode(name)).write_bytes(name)
    (path / "directory" / "small").write_bytes(b"small")
    (path / "large").write_bytes(os.urandom(6_000_000))
    (path / "repeats").write_bytes(b"0123456789abcdef" * 100_000)
    with (path / "sparse").open("wb") as file:
        file.truncate(8_000_000)
        file.seek(5_000_000)
        file.write(b"in the middle")
    os.link(path / "directory" / "small", path / "hard link")
    os.symlink("directory/small", path / "link")
    os.symlink(b"\xff nowhere", bytes(path / "broken link"))
    os.mkfifo(path / "fifo", 0o640)
    os.setxattr(path / "large", "user.short", b"\0value")
    os.setxattr(path / "directory", "user.long", os.urandom(6000)) if _takes_long(path) else None
    (path / "directory" / "deeper").chmod(0o2711)
    os.utime(path / "directory", ns=(1, 1_234_567_891_123_456_789))
    os.utime(path / "link", ns=(1, 987_654_321), follow_symlinks=False)
    return path


def _takes_long(path: Path) -> bool:
    try:
        os.setxattr(path, "user.long", bytes(6000))
        os.removexattr(path, "user.long")
    except OSError:
        return False
    return True


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    options = CreateOptions(password=PASSWORD, kdf=CHEAP, reserve_bytes=1024)
    created = create_repository(LocalStorage(str(tmp_path / "repo")), options)
    (tmp_path / "code").write_text(created.recovery_code.lower().replace("-", " ") + "\n")
    (tmp_path / "password").write_bytes(PASSWORD + b"\n")
    return created.repository


def call(tmp_path: Path, *words: str | Path, secret: str = "password") -> subprocess.CompletedProcess[str]:
    """Run the program where it can import neither this project nor anything beside it."""
    lonely = tmp_path / "lonely"
    lonely.mkdir(exist_ok=True)
    copy = lonely / PROGRAM.name
    copy.write_bytes(PROGRAM.read_bytes())
    arguments = [sys.executable, "-P", str(copy), "--password-file", str(tmp_path / secret), str(tmp_path / "repo")]
    return subprocess.run(
        [*arguments, *map(str, words)], cwd=lonely, env={"LANG": "C.UTF-8"}, capture_output=True, text=True, check=False
    )


def test_it_restores_bit_for_bit(tmp_path: Path, tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    finished = call(tmp_path, "restore", "latest", tmp_path / "restored")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert facts(tmp_path / "restored") == facts(tree)
    restored = tmp_path / "restored"
    assert (restored / "hard link").stat().st_ino == (restored / "directory" / "small").stat().st_ino
    assert (restored / "sparse").stat().st_blocks <= (tree / "sparse").stat().st_blocks + 8
    assert restored.stat().st_mtime_ns == tree.stat().st_mtime_ns


@pytest.mark.parametrize("dash", ["\u2010", "\u2011", "\u2013", "\u2014", "\u2212", "\u00a0", "\u202f", " \u2013 ", ""])
def test_it_takes_what_word_processors_make_of_the_dashes_of_a_recovery_code(dash: str) -> None:
    """As the engine does: whoever has nothing but the sheet of paper and this program must get in as well."""
    spec = importlib.util.spec_from_file_location("restore_without_syncova", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    code = format_recovery_code(bytes(range(20)))
    assert program.recovery_secret("\ufeff" + code.replace("-", dash)) == bytes(range(20))
    assert program.recovery_secret(code.replace("-", "/")) is None


def test_it_lists_and_restores_an_older_backup_with_the_recovery_code(
    tmp_path: Path, tree: Path, repository: Repository
) -> None:
    first = back_up_tree(repository, tree)
    before = facts(tree)
    (tree / "later").write_text("later")
    second = back_up_tree(repository, tree)
    listed = call(tmp_path, "list", secret="code").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [first.manifest_id[:12], second.manifest_id[:12]]
    assert first.backup_id in listed[0]
    finished = call(tmp_path, "restore", first.manifest_id[:12], tmp_path / "restored", secret="code")
    assert finished.returncode == 0, finished.stderr
    assert facts(tmp_path / "restored") == before


def test_a_damaged_object_is_read_from_its_copy(tmp_path: Path, tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    for directory in ("config", "slots", "keyrings", "index", "manifests"):
        for path in (tmp_path / "repo" / directory).rglob("*"):
            if path.is_file():
                flip(path, -1)
    assert call(tmp_path, "restore", "latest", tmp_path / "restored").returncode == 0
    assert facts(tmp_path / "restored") == facts(tree)


def test_without_an_index_the_packs_tell_what_they_hold(tmp_path: Path, tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    for path in (tmp_path / "repo").glob("**/index/*"):
        flip(path, -1)
    finished = call(tmp_path, "restore", "latest", tmp_path / "restored")
    assert finished.returncode == 0
    assert "the index is damaged" in finished.stderr
    assert facts(tmp_path / "restored") == facts(tree)


def test_without_any_index_object_the_packs_tell_what_they_hold(
    tmp_path: Path, tree: Path, repository: Repository
) -> None:
    back_up_tree(repository, tree)
    for path in (tmp_path / "repo").glob("**/index/*"):
        path.unlink()
    finished = call(tmp_path, "restore", "latest", tmp_path / "restored")
    assert finished.returncode == 0
    assert facts(tmp_path / "restored") == facts(tree)


def test_of_a_damaged_and_a_whole_pack_the_whole_one_is_read(
    tmp_path: Path, tree: Path, repository: Repository
) -> None:
    back_up_tree(repository, tree)
    for path in (tmp_path / "repo" / "packs").rglob("*"):
        if path.is_file():
            flip(path, path.stat().st_size // 2)
    check(repository, CheckRequest(read_data=True), Hooks())
    back_up_tree(open_repository(repository.storage, PASSWORD), tree)
    assert call(tmp_path, "restore", "latest", tmp_path / "restored").returncode == 0
    assert facts(tmp_path / "restored") == facts(tree)


def test_a_lost_backup_does_not_hide_the_others(tmp_path: Path, tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    second = back_up_tree(repository, tree)
    for path in (tmp_path / "repo").glob(f"**/manifests/{second.manifest_id}"):
        flip(path, -1)
    listed = call(tmp_path, "list")
    assert (listed.returncode, len(listed.stdout.splitlines())) == (13, 1)
    assert second.manifest_id in listed.stderr
    assert call(tmp_path, "restore", "latest", tmp_path / "restored").returncode == 0


def test_damaged_content_is_left_out_and_named(tmp_path: Path, tree: Path, repository: Repository) -> None:
    back_up_tree(repository, tree)
    pack = max((tmp_path / "repo" / "packs").rglob("*"), key=lambda path: path.stat().st_size * path.is_file())
    flip(pack, pack.stat().st_size // 2)
    finished = call(tmp_path, "restore", "latest", tmp_path / "restored")
    assert finished.returncode == 13
    assert "large" in finished.stderr
    restored = facts(tmp_path / "restored")
    whole = {path: fact for path, fact in facts(tree).items() if path in restored}
    assert restored == whole
    assert b"large" not in restored
    assert b"directory/deeper" in restored


def test_a_wrong_password_and_no_repository(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "password").write_text("wrong")
    assert "no key slot opens" in call(tmp_path, "list").stderr
    assert repository.id
    (tmp_path / "repo").rename(tmp_path / "moved")
    assert "no repository" in call(tmp_path, "list").stderr


def test_one_file_as_source_named_by_the_short_id(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "alone").write_bytes(b"all by itself")
    backup = back_up_tree(repository, tmp_path / "alone")
    shown = short_id(backup.backup_id)
    assert call(tmp_path, "restore", shown, tmp_path / "restored").returncode == 0
    assert (tmp_path / "restored" / "alone").read_bytes() == b"all by itself"


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_manifest_gets_nothing_out(tmp_path: Path, repository: Repository, attack: str) -> None:
    """engine.md 1.8: never outside the target, whatever the manifest says."""
    (tmp_path / "outside").mkdir()
    before = sorted(os.listdir(tmp_path))
    commit_tree(repository, ATTACKS[attack])
    finished = call(tmp_path, "restore", "latest", tmp_path / "restored")
    assert finished.returncode == 13, finished.stderr
    assert finished.stderr
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "lonely", "restored"])
    assert os.listdir(tmp_path / "outside") == []


def test_a_tree_of_everything(tmp_path: Path, repository: Repository) -> None:
    """2.3: all that a file system of Linux can hold."""
    build_everything(tmp_path / "tree")
    back_up_tree(repository, tmp_path / "tree")
    before = describe(tmp_path / "tree")
    finished = call(tmp_path, "restore", "latest", tmp_path / "restored")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert_same(before, describe(tmp_path / "restored"))


def commit_tree(repository: Repository, tree: Tree) -> None:
    with repository.begin_write() as session:
        groups = [Group(0, directory, [msgspec.Raw(encode(each)) for each in found]) for directory, found in tree]
        page, _ = session.put(ChunkKind.PAGE, encode_leaf(groups))
        commit(session, StreamRef(page, 0, sum(len(found) for _, found in tree), 0))


def test_a_path_longer_than_the_system_takes_comes_back_too(tmp_path: Path, repository: Repository) -> None:
    """2.3: no depth is too much; everything beside and below it is restored."""
    top = tmp_path / "tree"
    top.mkdir()
    (top / "zzz after it").write_text("after it")
    names = [b"%03d" % number + b"d" * 31 for number in range(130)]
    make_deep(top, names)
    before = describe(top)
    back_up_tree(repository, top)
    finished = call(tmp_path, "restore", "latest", tmp_path / "restored")
    restored = describe(tmp_path / "restored")
    for path in (top, tmp_path / "restored"):
        remove_deep(path)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert any(path.endswith(b"/at the bottom") for path in restored)
    assert_same(before, restored)


def make_deep(top: Path, names: list[bytes]) -> None:
    """Make directories within one another, with a file of two names and a link in the last one."""
    at = os.open(top, os.O_RDONLY)
    for name in names:
        os.mkdir(name, 0o750, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    with open(os.open("at the bottom", os.O_CREAT | os.O_WRONLY, dir_fd=at), "w") as file:
        file.write("deep")
        os.setxattr(file.fileno(), "user.deep", b"value")
    os.link("at the bottom", "hard link", src_dir_fd=at, dst_dir_fd=at)
    os.symlink("nowhere", "link", dir_fd=at)
    os.close(at)


def test_a_directory_that_cannot_be_made_costs_only_itself(tmp_path: Path, repository: Repository) -> None:
    """It is named once, with all below it; everything else is restored."""
    long, directory = b"n" * 300, EntryType.DIRECTORY
    tree: Tree = [
        (b"", [entry(b"a"), entry(long, directory), entry(b"z", directory)]),
        (long, [entry(b"file"), entry(b"inner", directory)]),
        (long + b"/inner", [entry(b"file")]),
        (b"z", [entry(b"file")]),
    ]
    commit_tree(repository, tree)
    finished = call(tmp_path, "restore", "latest", tmp_path / "restored")
    assert finished.returncode == 13
    assert finished.stderr == f"{long!r}: File name too long; nothing below it is restored\n"
    assert sorted(facts(tmp_path / "restored")) == [b"a", b"z", b"z/file"]


def flip(path: Path, at: int) -> None:
    path.chmod(0o600)
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
