"""What a person may meet is written down: every error code."""

import ast
import re

from tests.architecture import error_codes
from tests.architecture.source_files import Module


def test_every_error_code_is_documented() -> None:
    """E8: codes are stable and each has its place in docs/errors.md."""
    written = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", error_codes.DOCUMENT.read_text(encoding="utf-8")))
    assert sorted(set(error_codes.collect()) - written) == []


def test_the_table_of_codes_is_in_step() -> None:
    text = error_codes.DOCUMENT.read_text(encoding="utf-8")
    assert error_codes.table() in text, "run .venv/bin/python -m tests.architecture.error_codes"


def test_codes_are_found_in_classes_and_calls() -> None:
    error = 'class AError(X):\n    """Says why."""\n    code: ClassVar[str] = "A_CODE"\n    exit_code = 3\n'
    text = f'{error}Failure("B_CODE", f"It broke at {{place}}.")\n'
    module = Module("x.py", text, ast.parse(text))
    assert [*error_codes.from_classes(module), *error_codes.from_calls(module)] == [
        error_codes.ErrorCode("A_CODE", "Says why.", "3", ""),
        error_codes.ErrorCode("B_CODE", "It broke at ….", "", ""),
    ]
