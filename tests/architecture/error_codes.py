"""The stable error codes, read from the source. Run as a program, it writes their table into docs/errors.md.

Owns how a code is recognised: the `code` of an error class, or the code handed to what makes a failure or refusal.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from repositories.console import exits
from tests.architecture.source_files import CLONE, Module, calls, dotted, product

CODE = re.compile(r"^[A-Z][A-Z0-9_]{2,}$")
MAKERS = re.compile(r"fail|refus|answer|problem|conflict|reject|held", re.IGNORECASE)
DOCUMENT = CLONE / "docs" / "errors.md"
BEGIN = "<!-- codes: made by tests/architecture/error_codes.py -->"
END = "<!-- end of codes -->"


@dataclass(frozen=True, slots=True, order=True)
class ErrorCode:
    """A code, with what its class says about it if it has one."""

    code: str
    meaning: str
    exit_code: str
    status: str


def from_classes(module: Module) -> Iterator[ErrorCode]:
    """Yield the codes of error classes; what a class does not say, its nearest base of the product says."""
    for node in _error_classes(module):
        code = str(_field(node, module, "code"))
        if CODE.match(code) and any(name == "code" for each in node.body for name, _ in _constant(each)):
            meaning = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
            yield ErrorCode(code, meaning, _field(node, module, "exit_code"), _field(node, module, "status"))


def from_calls(module: Module) -> Iterator[ErrorCode]:
    """Yield the codes given to what makes a failure: `Failure("CODE", …)`, `code="CODE"`."""
    for call, name in calls(module):
        words = [each.value for each in call.keywords if each.arg == "code"]
        if MAKERS.search(name.split(".")[-1]):
            words += call.args[:2]
        codes = [_sentence(word) for word in words if isinstance(word, ast.Constant)]
        said = [text for text in map(_sentence, call.args) if " " in text]
        status = _status(call, name)
        yield from (ErrorCode(code, "".join(said[:1]), "", status) for code in codes if CODE.match(code))


def collect() -> dict[str, ErrorCode]:
    """Return every code once; what its class says is its meaning, else the first sentence told with it.

    Two classes may share a code, one of the engine and one of the API: each says what the other leaves out.
    """
    codes: dict[str, ErrorCode] = {}
    for find in (from_classes, from_calls):
        for each in (each for module in product() for each in find(module)):
            known = codes.get(each.code)
            codes[each.code] = each if known is None or not known.meaning else _completed(known, each)
    return dict(sorted(codes.items()))


def _completed(known: ErrorCode, other: ErrorCode) -> ErrorCode:
    return ErrorCode(known.code, known.meaning, known.exit_code or other.exit_code, known.status or other.status)


def table() -> str:
    """Return the part of docs/errors.md that is made from the classes."""
    rows = [BEGIN, "| code | meaning | HTTP status | exit code |", "| --- | --- | --- | --- |"]
    rows += [f"| `{each.code}` | {each.meaning} | {each.status} | {each.exit_code} |" for each in collect().values()]
    return "\n".join([*rows, END])


def write() -> None:
    """Put the table between its marks in docs/errors.md, whose other text is written by hand."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{table()}{after}", encoding="utf-8")


@cache
def _error_classes(module: Module) -> tuple[ast.ClassDef, ...]:
    found = (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
    return tuple(node for node in found if node.name.endswith("Error"))


def _field(node: ast.ClassDef, module: Module, field: str) -> str:
    for name, value in (pair for each in node.body for pair in _constant(each)):
        if name == field:
            return str(value)
    bases = {each.id for each in node.bases if isinstance(each, ast.Name)}
    # A name may be used twice in the product: the class of the same file is meant.
    for where in (module, *product()):
        for base in _error_classes(where):
            # What only its 500 is left of ends a command or a process, no request.
            if base.name in bases and base is not node and (field, base.name) != ("status", "SyncovaError"):
                return _field(base, where, field)
    return ""


def _status(call: ast.Call, name: str) -> str:
    """Return the status of an answer that no class makes: `ErrorAnswer(405, "CODE", …)`."""
    first = call.args[0] if call.args else None
    return str(first.value) if name.endswith("ErrorAnswer") and isinstance(first, ast.Constant) else ""


def _sentence(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_sentence(each) for each in node.values)
    if isinstance(node, ast.FormattedValue):
        return "…"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _constant(node: ast.stmt) -> Iterator[tuple[str, object]]:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    value = getattr(node, "value", None)
    if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
        yield target.id, value.value
    if isinstance(target, ast.Name) and isinstance(value, ast.Attribute) and dotted(value).startswith("exits."):
        yield target.id, getattr(exits, value.attr)


if __name__ == "__main__":
    write()
