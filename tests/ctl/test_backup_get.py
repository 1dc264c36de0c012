"""One file of a backup from the command line: whole, or not there at all (7.4). Real repository, engine and server."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs import content_views
from jobs.backup_content import Content
from jobs.ctl.kept_parts import KeptParts
from jobs.ctl.whole_file import whole_file
from repositories.console.failures import CommandError, OutputLostError
from repositories.models import Backup
from syncova_project.access.models import AuditEntry
from tests.ctl import worker
from tests.ctl.conftest import Ctl
from tests.workers import scenario
from tests.workers.test_executor import execute, request_for

pytestmark = pytest.mark.django_db(transaction=True)

LARGE = os.urandom(700_000)
RAW = b"caf\xe9"


@pytest.fixture
def backup(ctl: Ctl, plan: worker.Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A backup in a repository that this process reaches; commands run in an empty directory."""
    plan.opening = None
    place = scenario.ground(tmp_path, "default")
    tree = tmp_path / "source"
    (tree / "documents").mkdir(parents=True)
    (tree / "documents" / "large").write_bytes(LARGE)
    (tree / "-").write_bytes(b"a dash")
    (tree / "empty").touch()
    (tree / os.fsdecode(RAW)).write_bytes(b"no text")
    assert execute(request_for(place, tree)).failure is None
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return str(Backup.objects.get().id)


def test_a_file_comes_whole_under_its_own_name_and_is_its_owners_alone(ctl: Ctl, backup: str) -> None:
    got = ctl("backup", "get", backup, "documents/large")
    assert (got.code, got.out) == (0, "large: 684 KiB\n"), got.err
    assert Path("large").read_bytes() == LARGE
    assert Path("large").stat().st_mode & 0o777 == 0o600
    for name, content in ((os.fsdecode(RAW), b"no text"), ("empty", b""), ("./-", b"a dash")):
        assert ctl("backup", "get", backup, name).code == 0
        assert Path(name).read_bytes() == content
    told = ctl("backup", "get", backup, "empty", "-o", "other", "--json").json
    assert (told["backup"]["id"], told["path"], told["output"], told["bytes"]) == (backup, "empty", "other", 0)
    assert sorted(os.listdir()) == sorted(["large", "empty", "-", os.fsdecode(RAW), "other"])
    assert AuditEntry.objects.filter(action="backup.read_content").count() == 5


def test_nothing_is_overwritten_unless_that_is_asked_for(ctl: Ctl, backup: str) -> None:
    """And nothing is asked for in vain: who took what stands in the audit trail."""
    Path("kept").write_text("mine")
    Path("link").symlink_to("kept")
    Path("dangling").symlink_to("nothing")
    Path("directory").mkdir()
    for name in ("kept", "link", "dangling"):
        refused = ctl("backup", "get", backup, "documents/large", "-o", name)
        assert (refused.code, f"{name} exists already" in refused.err) == (2, True)
    for words in (["-o", "directory", "--force"], ["-o", "/dev/null", "--force"], ["-o", ""]):
        assert ctl("backup", "get", backup, "documents/large", *words).code == 2
    assert ctl("backup", "get", backup).code == 2
    assert not AuditEntry.objects.filter(action="backup.read_content").exists()
    assert Path("kept").read_text() == "mine"
    assert ctl("backup", "get", backup, "documents/large", "-o", "link", "--force").code == 0
    assert (Path("kept").read_bytes(), Path("link").is_symlink()) == (LARGE, True)


def test_what_comes_to_its_place_meanwhile_stays(tmp_path: Path) -> None:
    """Also where the file system has no hard links."""
    target = tmp_path / "file"

    def written() -> None:
        with whole_file(target, replace=False) as emit:
            emit(b"new")
            target.write_text("mine")

    for _ in range(2):
        with pytest.raises(CommandError, match="exists already"):
            written()
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "mine")]


def test_without_hard_links_a_new_file_comes_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_self: Path, _other: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuses)
    test_what_comes_to_its_place_meanwhile_stays(tmp_path)
    with whole_file(tmp_path / "new", replace=False) as emit:
        emit(b"new")
    assert sorted(os.listdir(tmp_path)) == ["file", "new"]


class Dies(Content):
    """The engine of the server is killed after its first piece."""

    def __next__(self) -> bytes:
        piece = super().__next__()
        self._process.kill()
        return piece


def test_a_download_that_breaks_off_leaves_nothing(ctl: Ctl, backup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_views, "Content", Dies)
    Path("kept").write_text("mine")
    broken = ctl("backup", "get", backup, "documents/large", "-o", "kept", "--force", "--json")
    assert (broken.code, broken.json["error"]["code"]) == (1, "CONTENT_BROKEN_OFF")
    assert f"of {len(LARGE):,} bytes came" in broken.json["error"]["message"]
    assert (os.listdir(), Path("kept").read_text()) == (["kept"], "mine")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_what_interrupts_the_writing_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    def broken() -> None:
        with whole_file(tmp_path / "file", replace=False) as emit:
            emit(b"half")
            raise error

    with pytest.raises(type(error)):
        broken()
    assert os.listdir(tmp_path) == []


def test_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    nowhere = whole_file(tmp_path / "none" / "file", replace=False)
    with pytest.raises(OutputLostError, match="none/file cannot be written: No such file"):
        nowhere.__enter__()


def test_standard_output_has_the_bytes_alone(ctl: Ctl, backup: str) -> None:
    assert ctl("backup", "get", backup, "documents/large", "-o", "-", "--json").code == 2
    got = ctl("backup", "get", backup, "-", "-o", "-")
    assert (got.code, got.out) == (0, "a dash")
    assert os.listdir() == []


def test_what_is_refused_says_what_to_do(ctl: Ctl, backup: str, tmp_path: Path) -> None:
    for words, code, said in (
        ([backup, "none"], 1, "does not hold the path"),
        ([backup, "documents"], 2, "PATH: is no regular file"),
        (["latest", "x"], 1, "no id of a backup"),
    ):
        refused = ctl("backup", "get", *words)
        assert (refused.code, said in refused.err) == (code, True), refused.err
    (tmp_path / "repository").rename(tmp_path / "elsewhere")
    away = ctl("backup", "get", backup, "documents/large", "--json")
    assert (away.code, away.json["error"]["code"]) == (1, "REPOSITORY_NOT_REACHABLE")
    assert "type ./syncova repo dump " in away.json["error"]["hint"]
    assert os.listdir() == []


def test_an_answer_without_its_length_proves_nothing(ctl: Ctl, backup: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = content_views._file

    def stripped(*given: Any) -> Any:
        answer = real(*given)
        del answer.headers["Content-Length"]
        return answer

    monkeypatch.setattr(content_views, "_file", stripped)
    refused = ctl("backup", "get", backup, "documents/large")
    assert (refused.code, "does not tell how many bytes" in refused.err) == (1, True)
    assert os.listdir() == []


def broken_off(ctl: Ctl, backup: str, *words: str) -> Path:
    """Begin a download that breaks off, and return what is kept of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content_views, "Content", Dies)
        broken = ctl("backup", "get", backup, "documents/large", "--resume", *words)
    assert (broken.code, "what came is kept" in broken.err) == (1, True), broken.err
    (part,) = Path().glob(".syncova-*.part")
    assert 0 < part.stat().st_size < len(LARGE)
    assert (part.read_bytes(), part.stat().st_mode & 0o777) == (LARGE[: part.stat().st_size], 0o600)
    return part


def first_bytes() -> list[int | None]:
    entries = AuditEntry.objects.filter(action="backup.read_content").order_by("id")
    return [one.details.get("first_byte") for one in entries]


def test_what_broke_off_goes_on_where_it_ended(ctl: Ctl, backup: str) -> None:
    """Of this download alone: another file, place or backup begins anew, and what is kept stays hidden beside it."""
    part = broken_off(ctl, backup)
    assert ctl("backup", "get", backup, "documents/large", "-o", "other", "--resume").code == 0
    assert first_bytes() == [None, None]
    came = part.stat().st_size
    got = ctl("backup", "get", backup, "documents/large", "--resume")
    assert (got.code, got.out) == (0, "large: 684 KiB\n"), got.err
    assert first_bytes()[2:] == [came - 1]
    assert sorted(os.listdir()) == ["large", "other"]
    assert Path("large").read_bytes() == Path("other").read_bytes() == LARGE
    assert Path("large").stat().st_mode & 0o777 == 0o600


def test_what_is_kept_stays_as_long_as_it_cannot_be_gone_on_with(ctl: Ctl, backup: str, settings: Any) -> None:
    part = broken_off(ctl, backup)
    places, settings.SYNCOVA_LONG_ANSWERS = settings.SYNCOVA_LONG_ANSWERS, 0
    assert ctl("backup", "get", backup, "documents/large", "--resume").code == 1
    settings.SYNCOVA_LONG_ANSWERS = places
    assert part.exists()
    Path("large").write_text("mine")
    assert ctl("backup", "get", backup, "documents/large", "--resume").code == 2
    assert part.exists()
    assert ctl("backup", "get", backup, "documents/large", "--resume", "--force").code == 0
    assert (os.listdir(), Path("large").read_bytes()) == (["large"], LARGE)


def test_what_is_of_another_tag_or_somebody_elses_is_not_gone_on_with(ctl: Ctl, backup: str) -> None:
    part = broken_off(ctl, backup)
    part.write_bytes(b"x" * 1000)
    part.rename(part.with_name(part.name.rpartition("-")[0] + "-abc.part"))
    assert ctl("backup", "get", backup, "documents/large", "--resume").code == 0
    assert (os.listdir(), Path("large").read_bytes()) == (["large"], LARGE)
    Path("large").unlink()
    spoils: list[Callable[[Path], object]] = [lambda path: path.chmod(0o640), lambda path: os.link(path, "second")]
    for spoil in spoils:
        part = broken_off(ctl, backup)
        part.write_bytes(b"x" * 1000)
        spoil(part)
        assert ctl("backup", "get", backup, "documents/large", "--resume").code == 0
        assert Path("large").read_bytes() == LARGE
        for name in os.listdir():
            Path(name).unlink()


def test_a_draft_that_had_all_but_its_name_asks_for_its_last_byte(ctl: Ctl, backup: str) -> None:
    part = broken_off(ctl, backup)
    part.write_bytes(LARGE)
    assert ctl("backup", "get", backup, "documents/large", "--resume").code == 0
    assert first_bytes() == [None, len(LARGE) - 1]
    assert (os.listdir(), Path("large").read_bytes()) == (["large"], LARGE)


def test_of_standard_output_nothing_is_kept(ctl: Ctl, backup: str) -> None:
    assert ctl("backup", "get", backup, "documents/large", "-o", "-", "--resume").code == 2


def test_what_may_not_be_on_the_disk_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure to flush, nobody knows which of the bytes are there."""

    def fails(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    def write() -> None:
        with whole_file(tmp_path / "file", replace=False, parts=KeptParts(tmp_path / "file", ("a",))) as draft:
            draft.tag = '"abc"'
            draft(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    (part,) = tmp_path.iterdir()
    assert (part.name.endswith("-abc.part"), part.read_bytes()) == (True, b"half")
    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OutputLostError):
        write()
    assert os.listdir(tmp_path) == []
