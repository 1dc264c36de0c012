"""Files fit 300 lines and functions 40; every module says what it owns."""

import ast

from tests.architecture.source_files import Module, modules, product

FILE_LINES = 300
FUNCTION_LINES = 40
# Files that are one table from end to end.
TABLES: frozenset[str] = frozenset({"syncova_project/setting_table.py"})


def everything() -> list[Module]:
    """Return every module that people write."""
    return [*product(), *modules("bootstrap", "tests")]


def function_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function takes, its docstring left out: contracts may be long."""
    total = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        total -= (first.end_lineno or first.lineno) - first.lineno + 1
    return total


def test_files_fit_the_limit() -> None:
    lines = {each.path: len(each.text.splitlines()) for each in everything() if each.path not in TABLES}
    assert {path: count for path, count in lines.items() if count > FILE_LINES} == {}


def test_functions_fit_the_limit() -> None:
    found = [
        f"{each.where(node)} {node.name}: {function_lines(node)} lines"
        for each in everything()
        for node in ast.walk(each.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and function_lines(node) > FUNCTION_LINES
    ]
    assert found == []


def test_every_module_opens_with_a_docstring() -> None:
    written = [each for each in everything() if each.text or not each.path.startswith("tests/")]
    bare = [each.path for each in written if not (ast.get_docstring(each.tree) or "").strip()]
    assert bare == []


def test_tables_are_still_there() -> None:
    """An exemption for a file that is gone would cover the next file of that name."""
    assert {each.path for each in everything()} >= TABLES


def test_a_long_function_is_seen() -> None:
    body = "\n".join(f"    x = {number}" for number in range(FUNCTION_LINES))
    node = ast.parse(f'def long():\n    """Docstring."""\n{body}\n').body[0]
    assert isinstance(node, ast.FunctionDef)
    assert function_lines(node) == FUNCTION_LINES + 1
