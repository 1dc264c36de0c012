"""What a person may meet is written down: every error code, and every script that is run by hand."""

import ast
import re

from tests.architecture import error_codes
from tests.architecture.source_files import CLONE, Module, repository_files

_DIRECTLY = 'if __name__ == "__main__":'
# The rival of `./syncova bench control`, which starts it.
_STARTED_BY_OTHERS = {"tests/benchmarks/beat_rival.py"}


def test_every_error_code_is_documented() -> None:
    """E8: codes are stable and each has its place in docs/errors.md."""
    written = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", error_codes.DOCUMENT.read_text(encoding="utf-8")))
    assert sorted(set(error_codes.collect()) - written) == []


def test_the_table_of_codes_is_in_step() -> None:
    text = error_codes.DOCUMENT.read_text(encoding="utf-8")
    assert error_codes.table() in text, "run .venv/bin/python -m tests.architecture.error_codes"


def test_every_script_that_is_run_by_hand_is_told_with_its_command() -> None:
    """Of tests/long what starts by itself, and of the benchmarks what `./syncova bench` does not list."""
    told = (CLONE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    scripts = [name for name in repository_files() if re.fullmatch(r"tests/(long|benchmarks)/[a-z]\w*\.py", name)]
    assert scripts
    by_hand = {name for name in scripts if _DIRECTLY in (CLONE / name).read_text(encoding="utf-8")} - _STARTED_BY_OTHERS
    commands = {name: f"python -m {name.removesuffix('.py').replace('/', '.')}" for name in by_hand}
    assert sorted(name for name, command in commands.items() if not re.search(rf"{command}\b", told)) == []


def test_codes_are_found_in_classes_and_calls() -> None:
    error = 'class AError(X):\n    """Says why."""\n    code: ClassVar[str] = "A_CODE"\n    exit_code = 3\n'
    text = f'{error}Failure("B_CODE", f"It broke at {{place}}.")\nErrorAnswer(405, "C_CODE", "So it is.")\n'
    module = Module("x.py", text, ast.parse(text))
    assert [*error_codes.from_classes(module), *error_codes.from_calls(module)] == [
        error_codes.ErrorCode("A_CODE", "Says why.", "3", ""),
        error_codes.ErrorCode("B_CODE", "It broke at ….", "", ""),
        error_codes.ErrorCode("C_CODE", "So it is.", "", "405"),
    ]
