"""syncova-agent backup: verdicts, options, limits, and that nothing of a failed one stays."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.process.spawn import child_environment
from tests.cli.programs import Programs
from tests.engine.process.children import wait_until
from tests.engine.repositories import PASSWORD

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "below").mkdir(parents=True)
    (path / "below" / "file").write_text("content")
    (path / "scratch.tmp").write_text("scratch")
    return path


def backups(programs: Programs) -> list[dict[str, object]]:
    found = programs.repo("list", programs.repository, "--json").json["backups"]
    assert isinstance(found, list)
    return found


def test_a_backup_tells_what_it_did(programs: Programs, tree: Path) -> None:
    ended = programs.back_up(tree, words=("--json", "--tag", "a", "--tag", "b"))
    assert ended.code == exits.DONE
    document = ended.json
    assert document["state"] == "succeeded"
    (source,) = document["sources"]
    assert source["source"].endswith(f":{tree}")
    assert (source["state"], source["backup"]["files"], source["backup"]["mode"]) == ("succeeded", 2, "full")
    assert source["backup"]["id"].startswith(f"run-{document['run_id']}-")
    (listed,) = backups(programs)
    assert listed["id"] == source["backup"]["id"]
    assert listed["short_id"] == source["backup"]["short_id"]
    assert listed["tags"] == ["a", "b"]


def test_the_second_backup_builds_on_the_first(programs: Programs, tree: Path) -> None:
    """A7: incremental is the default once the chain has a parent; --parent names another one."""
    programs.back_up(tree)
    programs.back_up(tree)
    first, second = backups(programs)
    assert (second["mode"], second["parent"], second["chain"]) == ("incremental", first["id"], first["chain"])
    third = programs.back_up(tree, words=("--json", "--parent", str(first["short_id"]))).json
    assert third["sources"][0]["backup"]["parent"] == first["id"]


def test_one_good_and_one_missing_source(programs: Programs, tree: Path, tmp_path: Path) -> None:
    """A6, 1.19: partial, and the good one is there."""
    ended = programs.back_up(tmp_path / "missing", tree, words=("--json",))
    assert ended.code == exits.SKIPPED
    document = ended.json
    assert document["state"] == "partial_failure"
    assert [source["state"] for source in document["sources"]] == ["failed", "succeeded"]
    assert document["sources"][0]["error"]["code"] == "SOURCE_MISSING"
    assert len(backups(programs)) == 1


def test_a_source_that_is_backed_up_in_part_has_the_state_of_the_run(programs: Programs, tree: Path) -> None:
    """--strict makes a skipped object of a warning: here that the previous backup cannot be read."""
    programs.back_up(tree)
    for pack in (programs.repository / "packs").glob("*/*"):
        pack.chmod(0o600)
        pack.write_bytes(bytes(pack.stat().st_size))
    ended = programs.back_up(tree, words=("--strict", "--json"))
    (source,) = ended.json["sources"]
    assert (ended.code, ended.json["state"], source["state"]) == (exits.SKIPPED, "partial_failure", "partial_failure")
    (problem,) = source["backup"]["problems"]
    assert (problem["path"], problem["code"]) == (".", "parent_unreadable")


@pytest.mark.parametrize(("count", "code"), [(1, "SOURCE_MISSING"), (2, "ALL_SOURCES_FAILED")])
def test_nothing_backed_up_is_a_failure(programs: Programs, tmp_path: Path, count: int, code: str) -> None:
    ended = programs.back_up(*[tmp_path / f"missing-{number}" for number in range(count)], words=("--json",))
    assert ended.code == exits.FAILED
    assert ended.json["error"]["code"] == code
    assert len(ended.json["sources"]) == count
    assert backups(programs) == []


def test_what_was_committed_before_a_failure_is_told(programs: Programs, tree: Path) -> None:
    """A repository error ends the run; the backups before it stay, and the user hears of both."""
    (tree / "below" / "large").write_bytes(os.urandom(400_000))
    with start(programs, tree / "scratch.tmp", "--path", str(tree), "--bandwidth", "100kB", "--json", "-v") as process:
        assert process.stderr
        wait_for_the_first_backup(programs)
        packs = programs.repository / "packs"
        packs.rename(programs.repository / "moved")
        packs.write_bytes(b"a file where a directory must be")
        out, err = process.communicate(timeout=120)
    document = json.loads(out)
    assert process.returncode == exits.FAILED, err
    assert document["error"]["code"].startswith("REPOSITORY")
    assert [source["state"] for source in document["sources"]] == ["succeeded"]
    assert len(backups(programs)) == 1


def wait_for_the_first_backup(programs: Programs) -> None:
    wait_until(lambda: len(list((programs.repository / "manifests").glob("*"))) == 1)


def test_excludes_from_options_and_files(programs: Programs, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("# scratch\n*.tmp\n")
    programs.back_up(tree, words=("--exclude-file", str(tmp_path / "rules"), "--exclude", "/below/file"))
    entries = programs.repo("ls", programs.repository, "latest", "-R", "--json").json["entries"]
    assert [entry["path"] for entry in entries] == ["below"]


@pytest.mark.parametrize(
    "words",
    [
        ("--bandwidth", "0"),
        ("--bandwidth", "fast"),
        ("--compression", "fluffy"),
        ("--progress", "loud"),
        ("--source", "a\nb"),
        ("--exclude-file", "/nonexistent"),
        ("--parent", "x", "--path", "/"),
        ("--path", ""),
        ("--tag", ""),
        ("--tag", "a\nb"),
    ],
)
def test_what_makes_no_sense_ends_with_2(programs: Programs, tree: Path, words: tuple[str, ...]) -> None:
    ended = programs.back_up(tree, words=(*words, "--json"))
    assert ended.code == exits.USAGE
    assert "error" in ended.json
    assert backups(programs) == []


def test_bad_options_are_told_before_any_password_is_read(programs: Programs, tree: Path) -> None:
    """C7: checked before the repository is opened."""
    words = ("-r", "/nowhere", "--path", tree, "--bandwidth", "0")
    ended = programs.agent("backup", *words, "--password-file", "/nonexistent", secret=False)
    assert "bandwidth" in ended.err


def test_one_source_written_twice_is_backed_up_once(
    programs: Programs, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A8: no two backups have one id; the one that is made is restorable by its whole id."""
    monkeypatch.chdir(tree.parent)
    words = ("--path", f"{tree}/", "--path", "tree", "--path", f"/{tree}/below/..", "--json")
    (source,) = programs.back_up(tree, words=words).json["sources"]
    assert [backup["id"] for backup in backups(programs)] == [source["backup"]["id"]]
    assert programs.repo("show", programs.repository, source["backup"]["id"]).code == exits.DONE


def test_an_emptied_source_needs_a_word(programs: Programs, tree: Path) -> None:
    """1.19: an unmounted source is no success; the hint names what to do, and doing it works."""
    programs.back_up(tree)
    (tree / "scratch.tmp").unlink()
    (tree / "below" / "file").unlink()
    (tree / "below").rmdir()
    refused = programs.back_up(tree)
    assert refused.code == exits.FAILED
    assert "--accept-new-root" in refused.err
    assert "held 3 entries (14 B) in backup" in refused.err
    assert programs.back_up(tree, words=("--accept-new-root",)).code == exits.DONE
    assert programs.back_up(tree).code == exits.DONE


def test_rules_that_leave_nothing_are_told_as_such(programs: Programs, tree: Path) -> None:
    programs.back_up(tree)
    refused = programs.back_up(tree, words=("--exclude", "*"))
    assert refused.code == exits.FAILED
    assert "exclude rules" in refused.err
    assert "mounted" not in refused.err


def test_a_reason_stands_once(programs: Programs, tmp_path: Path) -> None:
    ended = programs.back_up(tmp_path / "missing")
    assert ended.err.count("does not exist") == 1
    assert ended.err.count(str(tmp_path / "missing")) == 1


def test_a_path_is_needed(programs: Programs) -> None:
    assert "--path is missing" in programs.agent("backup", "-r", programs.repository).err


def test_progress_lines_stand_on_stderr(programs: Programs, tree: Path) -> None:
    ended = programs.back_up(tree, words=("--progress", "json", "--json", "-q"))
    events = [json.loads(line)["event"] for line in ended.err.splitlines()]
    assert events[0] == "source_started"
    assert events[-1] == "source_finished"
    assert ended.json["state"] == "succeeded"


def test_the_repository_itself_is_left_out(programs: Programs, tmp_path: Path) -> None:
    """1.19: the repository's own parent as source."""
    assert programs.back_up(tmp_path).code == exits.DONE
    entries = programs.repo("ls", programs.repository, "latest", "--json").json["entries"]
    assert "repo" not in [entry["path"] for entry in entries]


def test_the_password_is_nowhere_to_be_seen(programs: Programs, tree: Path) -> None:
    """Canary: not in argv or environment of any process, not in any output."""
    (tree / "large").write_bytes(os.urandom(500_000))
    with start(programs, tree, "--bandwidth", "100kB", "--progress", "json", "-v") as process:
        assert process.stderr
        told = process.stderr.readline()
        seen = b"".join(file.read_bytes() for pid in family(process.pid) for file in visible(pid))
        assert b"repositories.engine.process" in seen
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert PASSWORD not in seen
    assert PASSWORD not in told + out + err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, exits.INTERRUPTED), (signal.SIGTERM, exits.TERMINATED)])
def test_an_interrupt_ends_the_child_and_leaves_nothing(
    programs: Programs, tree: Path, number: signal.Signals, code: int
) -> None:
    """design.md 4: 130 and 143; engine.md 8: cancelled within seconds."""
    (tree / "large").write_bytes(os.urandom(5_000_000))
    with start(programs, tree, "--bandwidth", "10kB", "--progress", "json", "--json") as process:
        assert process.stderr
        process.stderr.readline()
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == code
    error = json.loads(out)["error"]
    assert error["code"] == "INTERRUPTED"
    assert error["message"].endswith(": 0 of 1 source backed up, and nothing half")
    assert backups(programs) == []


def start(programs: Programs, tree: Path, *words: str) -> subprocess.Popen[bytes]:
    arguments = ["backup", "-r", str(programs.repository), "--password-file", str(programs.password_file)]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "agents.runtime", *arguments, "--path", str(tree), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**child_environment(), "HOME": str(programs.directory)},
    )


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in family(int(child)))]


def visible(pid: int) -> list[Path]:
    return [Path(f"/proc/{pid}/cmdline"), Path(f"/proc/{pid}/environ")]
