"""The repository's files as the architecture tests see them: parsed once, with no import of the product."""

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent.parent
APPS = ("repositories", "jobs", "agents", "workers")  # lowest first
PRODUCT = (*APPS, "syncova_project", "manage.py")


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """One Python file."""

    path: str  # relative to the clone
    text: str
    tree: ast.Module

    @property
    def is_migration(self) -> bool:
        """Say whether Django made it."""
        return "/migrations/" in self.path

    def where(self, node: ast.AST) -> str:
        """Return the place of a node for a message."""
        return f"{self.path}:{getattr(node, 'lineno', 0)}"


@cache
def repository_files() -> tuple[str, ...]:
    """Return the path of every file that is, or is about to be, part of the repository."""
    command = ["git", "-c", f"safe.directory={CLONE}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=CLONE, check=True, capture_output=True).stdout
    return tuple(name for name in sorted(listed.decode().split("\0")) if name and (CLONE / name).is_file())


@cache
def modules(*roots: str) -> tuple[Module, ...]:
    """Return the Python files below these roots."""
    return tuple(parsed(name) for name in repository_files() if name.endswith(".py") and _below(name, roots))


def product() -> tuple[Module, ...]:
    """Return the product's modules, without what Django generates."""
    return tuple(each for each in modules(*PRODUCT) if not each.is_migration)


def calls(module: Module) -> Iterator[tuple[ast.Call, str]]:
    """Yield every call with the dotted name of what is called, as far as it is one."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            yield node, dotted(node.func)


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for a name or attribute, and only the last part behind a call: `().c`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return "()"


def _below(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith(f"{root}/") for root in roots)


@cache
def parsed(name: str) -> Module:
    """Return one file."""
    text = (CLONE / name).read_text(encoding="utf-8")
    return Module(name, text, ast.parse(text, name))
