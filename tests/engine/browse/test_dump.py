"""2.11: a dump is a PAX archive that real tar programs unpack to what was backed up."""

import io
import os
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from repositories.engine.browse.dump import dump_archive, dump_file, dumped_object
from repositories.engine.errors import ConfigurationError
from repositories.engine.manifest.backups import list_backups, walk_entries
from repositories.engine.manifest.entries import EntryType
from repositories.engine.repository import Repository
from tests.engine.browse.builders import made_up, make_backup
from tests.engine.repositories import back_up_tree, make_repository
from tests.engine.trees import AWKWARD_NAMES, Description, assert_same, describe, pattern
from tests.engine.users import as_ordinary_user
from tests.tree_facts import facts, read_content


def archive(repository: Repository, path: bytes = b"") -> bytes:
    out = io.BytesIO()
    backup = list_backups(repository)[-1]
    done = dump_archive(repository.reader(), backup, path, out.write)
    assert done.damaged == 0
    return out.getvalue()


def unpack(data: bytes, target: Path, *options: str) -> str:
    """Unpack with GNU tar; return what it said."""
    target.mkdir(exist_ok=True)
    words = ["tar", "--xattrs", "--acls", *options, "-xpf", "-", "-C", str(target)]
    return subprocess.run(words, input=data, capture_output=True, check=True).stderr.decode("utf-8", "replace")


def test_gnu_tar_unpacks_everything_as_it_was(tmp_path: Path, repository: Repository, everything: Description) -> None:
    """Names of any bytes, ns, owners beyond 2 M, ACLs, capabilities, hard links, devices, holes, 0000 modes."""
    said = unpack(archive(repository), tmp_path / "out", "--xattrs-include=*")
    assert_same(everything, describe(tmp_path / "out"))
    assert facts(tmp_path / "out") == facts(tmp_path / "tree")
    assert "Unexpected" not in said
    assert "error" not in said
    sparse = (tmp_path / "out" / "hole in the middle").stat()
    assert sparse.st_blocks * 512 < sparse.st_size // 2


def test_gnu_tar_unpacks_it_as_an_ordinary_user(tmp_path: Path) -> None:
    """2.14: modes, times and attributes of user.* come back; directories that are read-only are filled before."""
    (tmp_path / "home").mkdir()
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(above.stat().st_mode | stat.S_IXOTH)

    def run() -> tuple[Description, Description]:
        tree = tmp_path / "home" / "tree"
        (tree / "read-only" / "below").mkdir(parents=True)
        (tree / "read-only" / "below" / "file").write_bytes(b"x")
        (tree / "sibling").mkdir()
        os.setxattr(tree / "sibling", b"user.mark", b"\0=%")
        os.link(tree / "read-only" / "below" / "file", tree / "sibling" / "again")
        os.utime(tree / "read-only" / "below" / "file", ns=(1, 123_456_789))
        (tree / "read-only").chmod(0o555)
        os.utime(tree / "read-only", ns=(1, 987_654_321))
        before = describe(tree)
        repository = make_repository()
        back_up_tree(repository, tree)
        unpack(archive(repository), tmp_path / "home" / "out")
        return before, describe(tmp_path / "home" / "out")

    assert_same(*as_ordinary_user(run, tmp_path / "home"))
    for each in ("tree", "out"):
        (tmp_path / "home" / each / "read-only").chmod(0o755)


def test_python_reads_it_too(repository: Repository, everything: Description, tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive(repository)), errors="surrogateescape") as tar:
        members = {os.fsencode(member.name): member for member in tar.getmembers()}
        assert set(members) == set(everything)
        for path, told in everything.items():
            member = members[path]
            assert stat.S_IMODE(int(told["mode"])) == member.mode  # type: ignore[call-overload]
            assert (told["uid"], told["gid"]) == (member.uid, member.gid)
            if told["type"] == stat.S_IFREG and not member.islnk():
                file = tar.extractfile(member)
                assert file is not None
                assert file.read() == read_content(os.path.join(os.fsencode(tmp_path / "tree"), path))
            if told["type"] == stat.S_IFLNK and not member.islnk():
                assert os.fsencode(member.linkname) == told["target"]
        assert {b"names/" + name for name in AWKWARD_NAMES} < set(members)


def test_a_part_holds_the_first_member_of_its_hard_links(
    repository: Repository, everything: Description, tmp_path: Path
) -> None:
    """A link leads to what is in the archive, also when the group's first name is not."""
    unpack(archive(repository, b"later"), tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == ["later"]
    assert (tmp_path / "out" / "later" / "hard b").read_bytes() == b"linked"
    unpack(archive(repository, b"large"), tmp_path / "file", "--strip-components=0")
    assert (tmp_path / "file" / "large").read_bytes() == pattern(3_000_000)
    assert everything[b"large"]["size"] == 3_000_000


def test_a_directory_comes_directly_before_what_lies_in_it(repository: Repository, everything: Description) -> None:
    """Whoever unpacks gives a directory its time when the next member lies elsewhere."""
    del everything
    with tarfile.open(fileobj=io.BytesIO(archive(repository)), errors="surrogateescape") as tar:
        names = [member.name for member in tar.getmembers()]
    left: set[str] = set()
    before = ""
    for name in names[1:]:
        above = name.rpartition("/")[0]
        assert above not in left
        while before and not f"{name}/".startswith(f"{before}/"):
            left.add(before)
            before = before.rpartition("/")[0]
        before = name
    assert len(names) == len(set(names))


def test_a_file_of_9_gib_and_an_empty_one_and_depth(tmp_path: Path) -> None:
    """Sizes beyond the header's 8 GiB, and paths beyond PATH_MAX (deeper than any tar unpacks, but readable)."""
    size = 9 << 30
    paths = {b"big": made_up(b"big", size=size), b"empty": made_up(b"empty")}
    deep = b""
    for _ in range(1500):
        deep = deep + b"/deep" if deep else b"deep"
        paths[deep] = made_up(b"deep", EntryType.DIRECTORY)
    repository = make_repository()
    make_backup(repository, paths)
    data = archive(repository)
    assert len(data) < 20_000_000
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = {member.name: member.size for member in tar.getmembers()}
    assert found["big"] == size
    assert deep.decode() in found
    unpack(archive(repository, b"big"), tmp_path / "out")
    big = (tmp_path / "out" / "big").stat()
    assert (big.st_size, big.st_blocks < 2048) == (size, True)


def test_a_file_is_its_bytes(repository: Repository, everything: Description, tmp_path: Path) -> None:
    backup = list_backups(repository)[-1]
    source = repository.reader()
    names = [path for path, told in everything.items() if told["type"] == stat.S_IFREG]
    assert len(names) > 30
    for path in names:
        out = io.BytesIO()
        done = dump_file(source, *dumped_object(source, backup, path), out.write)
        content = read_content(os.path.join(os.fsencode(tmp_path / "tree"), path))
        assert out.getvalue() == content
        assert done.written == len(content)
    for path in (b"links", b"links/0", b"fifo", b""):
        with pytest.raises(ConfigurationError, match="no regular file"):
            dump_file(source, *dumped_object(source, backup, path), io.BytesIO().write)
    with pytest.raises(ConfigurationError, match="not in backup"):
        dump_archive(source, backup, b"nothing", io.BytesIO().write)


def test_a_source_that_is_one_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "only").write_bytes(b"content")
    repository = make_repository()
    back_up_tree(repository, tmp_path / "only")
    backup = list_backups(repository)[-1]
    assert [path for path, _ in walk_entries(repository, backup)] == [b"only"]
    out = io.BytesIO()
    dump_file(repository.reader(), *dumped_object(repository.reader(), backup, b""), out.write)
    assert out.getvalue() == b"content"
    with tarfile.open(fileobj=io.BytesIO(archive(repository))) as tar:
        assert tar.getnames() == ["only"]


def test_an_empty_source_is_an_archive_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir(mode=0o710)
    repository = make_repository()
    back_up_tree(repository, tmp_path / "tree")
    with tarfile.open(fileobj=io.BytesIO(archive(repository))) as tar:
        assert [(member.name, member.mode) for member in tar] == [(".", 0o710)]
