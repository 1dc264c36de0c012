"""Attributes: the order in which they survive each other, and one report per class of what a target cannot take."""

import errno
import os
import stat
from collections import Counter
from pathlib import Path

import pytest

from repositories.engine.metadata.apply import (
    AttributeClass,
    Attributes,
    apply_to_descriptor,
    apply_to_link,
    apply_to_special,
)
from repositories.engine.metadata.extended import object_in, read_xattrs
from tests.engine.trees import IS_ROOT

CAPABILITY = bytes.fromhex("0100000200200000000000000000000000000000")


class Reports:
    def __init__(self) -> None:
        self.classes: Counter[AttributeClass] = Counter()

    def __call__(self, kind: AttributeClass, error: OSError) -> None:
        self.classes[kind] += 1


def mine(**changes: object) -> Attributes:
    values: dict[str, object] = {"mode": 0o100640, "uid": os.geteuid(), "gid": os.getegid(), "mtime_ns": 1_000_000_001}
    return Attributes(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> int:
    return os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR, 0o600)


@pytest.mark.skipif(not IS_ROOT, reason="changing owners and file capabilities needs root")
def test_owner_comes_before_mode_and_capabilities_last(file: int) -> None:
    """3e, 58: chown clears setuid and security.capability."""
    reports = Reports()
    wanted = mine(mode=0o106755, uid=1234, gid=5678, xattrs=((b"security.capability", CAPABILITY),))
    apply_to_descriptor(file, wanted, reports)
    status = os.fstat(file)
    assert stat.S_IMODE(status.st_mode) == 0o6755
    assert (status.st_uid, status.st_gid) == (1234, 5678)
    assert read_xattrs(file) == ([(b"security.capability", CAPABILITY)], None)
    assert not reports.classes


def test_acl_and_mode_agree_and_times_come_last(file: int) -> None:
    acl = bytes.fromhex("0200000001000600ffffffff02000700e803000004000400ffffffff10000700ffffffff20000000ffffffff")
    reports = Reports()
    try:
        os.setxattr(file, b"system.posix_acl_access", acl)
        os.removexattr(file, b"system.posix_acl_access")
    except OSError:
        pytest.skip("no ACLs here")
    apply_to_descriptor(
        file, mine(mode=0o100670, xattrs=((b"system.posix_acl_access", acl), (b"user.a", b"1"))), reports
    )
    assert read_xattrs(file)[0] == [(b"system.posix_acl_access", acl), (b"user.a", b"1")]
    assert os.fstat(file).st_mtime_ns == 1_000_000_001
    assert not reports.classes


def test_special_bits_are_dropped_with_the_owner(file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*rest: object, **options: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("repositories.engine.metadata.apply.os.chown", refuse)
    reports = Reports()
    apply_to_descriptor(file, mine(mode=0o104755, uid=4321), reports)
    assert stat.S_IMODE(os.fstat(file).st_mode) == 0o755
    assert reports.classes == {AttributeClass.OWNER: 1, AttributeClass.SPECIAL_BITS: 1}


@pytest.mark.parametrize(
    ("call", "kind"),
    [("chmod", AttributeClass.MODE), ("utime", AttributeClass.TIMES), ("setxattr", AttributeClass.XATTR)],
)
def test_each_failure_has_its_class_and_stops_nothing(
    call: str, kind: AttributeClass, file: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*rest: object, **options: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(f"os.{call}", refuse)
    reports = Reports()
    apply_to_descriptor(file, mine(xattrs=((b"user.a", b"1"),)), reports)
    assert reports.classes[kind] == 1
    if call != "utime":
        assert os.fstat(file).st_mtime_ns == 1_000_000_001


@pytest.mark.parametrize("ns", [2**90, 2**120])
def test_times_that_a_file_system_cuts_are_a_report(ns: int, file: int) -> None:
    """2.3: file systems cut times that they cannot hold without a word."""
    reports = Reports()
    apply_to_descriptor(file, mine(mtime_ns=ns), reports)
    assert reports.classes == {AttributeClass.TIMES: 1}


def test_links_are_changed_themselves(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"")
    before = (tmp_path / "target").stat()
    (tmp_path / "link").symlink_to("target")
    directory = os.open(tmp_path, os.O_RDONLY)
    apply_to_link(directory, b"link", mine(mtime_ns=-5), Reports())
    assert (tmp_path / "link").lstat().st_mtime_ns == -5
    after = (tmp_path / "target").stat()
    assert (after.st_mtime_ns, after.st_mode) == (before.st_mtime_ns, before.st_mode)


def test_fifos_get_their_mode_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    directory = os.open(tmp_path, os.O_RDONLY)
    reports = Reports()
    apply_to_special(directory, b"fifo", mine(mode=0o010644, mtime_ns=77), reports)
    status = (tmp_path / "fifo").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o644, 77)
    assert not reports.classes


def test_attributes_are_read_through_descriptors(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    try:
        os.setxattr(tmp_path / "file", b"user.b\xff", b"\0")
        os.setxattr(tmp_path / "file", b"user.a", b"")
    except OSError:
        pytest.skip("no extended attributes here")
    directory = os.open(tmp_path, os.O_RDONLY)
    assert read_xattrs(object_in(directory, b"file")) == ([(b"user.a", b""), (b"user.b\xff", b"\0")], None)
    found, failure = read_xattrs(object_in(directory, b"gone"))
    assert found == []
    assert failure is not None
    assert failure.errno == errno.ENOENT


def test_the_mark_of_an_unfinished_object_goes_when_its_times_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """engine.md 7: a killed restore knows its own unfinished objects, so the mode is set after the times."""
    path = tmp_path / "file"
    path.touch(mode=0o600)
    seen: list[int] = []
    chmod = os.chmod

    def recording(target: int, mode: int) -> None:
        seen.append(os.fstat(target).st_mtime_ns)
        chmod(target, mode)

    monkeypatch.setattr(os, "chmod", recording)
    with path.open("rb") as file:
        apply_to_descriptor(
            file.fileno(), Attributes(0o640, os.geteuid(), os.getegid(), 1_234_567_890), lambda *_: None
        )
    assert seen == [1_234_567_890]
    assert (path.stat().st_mtime_ns, path.stat().st_mode & 0o7777) == (1_234_567_890, 0o640)
