"""docs/check-and-repair.md: its commands run as they stand, and it names all kinds of problems and true numbers."""

import re
import shlex
from pathlib import Path

import pytest

from repositories.console import exits
from repositories.engine.check.report import PATHS_LISTED
from repositories.engine.check.run import kind_of_refusal
from repositories.engine.errors import InventoryLostError, RepositoryRolledBackError
from repositories.engine.high_water import MANIFESTS_KEPT
from repositories.engine.repair.aside import ASIDE
from repositories.engine.sessions.fences import FenceLostError
from tests.cli.programs import Programs, make_programs

PAGE = (Path(__file__).parents[2] / "docs" / "check-and-repair.md").read_text(encoding="utf-8")
LINES = [line.strip() for line in PAGE.splitlines() if line.strip().startswith("syncova-repo ") and "$REPO" in line]
_REFUSALS = (InventoryLostError, FenceLostError, RepositoryRolledBackError)


@pytest.fixture
def programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Programs:
    programs = make_programs(tmp_path, capfd)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"content")
    programs.back_up(tmp_path / "tree")
    return programs


def test_each_command_runs(programs: Programs) -> None:
    assert len(LINES) == 8
    for line in LINES:
        _, verb, *words = shlex.split(line.replace("$REPOSITORY", str(programs.repository)))
        ended = programs.repo(verb, *words)
        assert ended.code == exits.DONE, (line, ended)


def test_all_kinds_of_problems_are_named() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    source = Path(__file__).parents[2] / "repositories" / "engine" / "check"
    texts = "".join(path.read_text(encoding="utf-8") for path in source.glob("*.py"))
    refusals = {kind_of_refusal(each("made up")) for each in _REFUSALS}
    assert named == set(re.findall(r"findings\.add\(\s*\"(\w+)\"", texts)) | refusals


def test_its_numbers_are_true() -> None:
    assert f"first {PATHS_LISTED} paths" in PAGE
    assert f"newest {MANIFESTS_KEPT} backups" in PAGE
    assert f"`{ASIDE}`" in PAGE
