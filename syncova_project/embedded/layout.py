"""Where everything lies in the data directory, and who may read it.

Owns paths, modes and owners below the data directory; changes nothing outside it. As root the directory belongs to
root and lets only the service user's group pass, so that no process but root's can replace a program or a setting.
"""

import errno
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from syncova_project.embedded import claiming
from syncova_project.embedded.accounts import Account, closed_directory
from syncova_project.embedded.problems import RESTORING, DataDirectoryError, SocketPathTooLongError

# sun_path has 108 bytes with its final NUL on Linux, 104 on macOS.
SOCKET_PATH_LIMIT = 103 if sys.platform == "darwin" else 107
POSTGRES_SOCKET, VALKEY_SOCKET = ".s.PGSQL.5432", "valkey.sock"
# Below this a fresh PostgreSQL cluster and its log cannot be written.
FREE_SPACE_NEEDED = 200 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one data directory."""

    root: Path

    @property
    def sockets(self) -> Path:
        """Directory of the Unix sockets: 0700, the service user's."""
        return self.root / "run"

    @property
    def postgres(self) -> Path:
        """PostgreSQL's cluster."""
        return self.root / "servers" / "postgres"

    @property
    def valkey(self) -> Path:
        """Valkey's configuration and working directory."""
        return self.root / "servers" / "valkey"

    @property
    def scratch(self) -> Path:
        """Home and temporary directory of the service user's processes: 0700, theirs."""
        return self.root / "tmp"

    @property
    def own_scratch(self) -> Path:
        """Temporary directory of the starter's own processes, out of the service user's reach: 0700."""
        return self.root / "tmp-own"

    @property
    def programs(self) -> Path:
        """Copies of programs for the service user."""
        return self.root / "programs"

    @property
    def secrets(self) -> Path:
        """Random passwords and keys, one a file."""
        return self.root / "secrets"

    @property
    def logs(self) -> Path:
        """One file per process."""
        return self.root / "logs"

    @property
    def state(self) -> Path:
        """Records of the running stack; only its starter writes here."""
        return self.root / "state"

    @property
    def settings_file(self) -> Path:
        """Settings that `up` made, and those that the operator adds."""
        return self.root / "syncova.env"

    def log(self, name: str) -> Path:
        """Return the log file of a process."""
        return self.logs / f"{name}.log"


def prepare(layout: Layout, account: Account) -> None:
    """Make the directories with their owners and modes; safe to repeat.

    Raises DataDirectoryError (someone else's, not writable, not reachable by the service user, too full for a first
    start) and SocketPathTooLongError.
    """
    try:
        check(layout, account)
        _make_root(layout.root, account)
        group = account.gid if account.switched else -1
        for directory in (layout.programs, layout.secrets):
            make_directory(directory, mode=0o750 if account.switched else 0o700, group=group)
        for directory in (layout.logs, layout.state):
            make_directory(directory, mode=0o700)
        make_directory(layout.root / "servers", mode=0o710 if account.switched else 0o700, group=group)
        for directory in (layout.sockets, layout.scratch, layout.valkey):
            make_directory(directory, mode=0o700, owner=account)
        make_directory(layout.own_scratch, mode=0o700)
        _hand_over(layout.postgres, account)
    except OSError as error:
        raise directory_error(layout.root, error) from error


def check(layout: Layout, account: Account) -> None:
    """Raise what `prepare` would raise of the directory as it stands; changes nothing. Raises OSError as well."""
    _check_socket_paths(layout)
    claiming.check(layout.root)
    _check_reachable(layout.root, account)
    if not has_cluster(layout):
        _check_space(layout.root)


def has_cluster(layout: Layout) -> bool:
    """Tell whether this is not the first start: a whole PostgreSQL cluster is there. Raises OSError."""
    try:
        (layout.postgres / "PG_VERSION").stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def space_warning(layout: Layout) -> str:
    """Return what to say when an installation that must go on has little space left, else ""."""
    free = shutil.disk_usage(layout.root).free
    if free >= FREE_SPACE_NEEDED:
        return ""
    return f"{layout.root} has only {free >> 20} MiB free; a full disk stops the database. Free some space soon."


def clear_scratch(layout: Layout) -> None:
    """Remove what killed processes left in the temporary directories; nothing may run. Failures are passed over."""
    for directory in (layout.scratch, layout.own_scratch):
        for leftover in directory.glob("pymp-*"):
            shutil.rmtree(leftover, ignore_errors=True)


def make_directory(path: Path, *, mode: int, owner: Account | None = None, group: int = -1) -> None:
    """Make one directory below the data directory with its mode and owner; a link in its place is refused."""
    path.mkdir(exist_ok=True)
    if path.is_symlink():
        raise DataDirectoryError(f"{path} is a symbolic link; the stack only uses real directories of its own.")
    if owner is not None and owner.switched:
        os.chown(path, owner.uid, owner.gid)
    elif os.geteuid() == 0:
        os.chown(path, 0, max(group, 0))
    path.chmod(mode)


def directory_error(root: Path, error: OSError) -> DataDirectoryError:
    """Translate what the system said about the data directory into a sentence with a next step."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DataDirectoryError(f"No space is left for {root}.", hint="Free some space, or name another --data.")
    inside = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else root
    is_ours = root in inside.parents and (inside.parent != root or os.path.lexists(inside))
    if error.errno in {errno.EACCES, errno.EPERM} and is_ours:
        return DataDirectoryError(
            f"{inside} may not be used: {error.strerror}; its mode or owner was changed.",
            hint=f"Set them back (every path is its owner's alone) or restore it from a copy. {RESTORING}",
        )
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return DataDirectoryError(
            f"{error.filename or root} may not be written: {error.strerror}.",
            hint="Name a directory of your own with --data or SYNCOVA_DATA_DIR.",
        )
    return DataDirectoryError(f"{error.filename or root} cannot be used: {error.strerror}.")


def _hand_over(cluster: Path, account: Account) -> None:
    """Give the cluster to the service user of this start: often nobody at first, syncova once it exists."""
    if not account.switched or not cluster.exists() or cluster.stat().st_uid == account.uid:
        return
    # By descriptors and never through a link: the user before could have put one anywhere below. Its top comes last,
    # so that a hand-over that was cut short is done again.
    for _path, _names, files, descriptor in os.fwalk(cluster, topdown=False):
        for name in (*files, "."):
            os.chown(name, account.uid, account.gid, dir_fd=descriptor, follow_symlinks=False)


def _make_root(root: Path, account: Account) -> None:
    if root.is_symlink():
        root = root.resolve()
    claiming.claim(root)
    make_directory(root, mode=0o710 if account.switched else 0o700, group=account.gid if account.switched else -1)


def _check_reachable(root: Path, account: Account) -> None:
    # The directory itself gets its mode from `prepare`.
    closed = closed_directory(account, root.resolve().parent)
    if closed is not None:
        raise DataDirectoryError(
            f"The servers run as {account.name}, which may not pass {closed} on the way to {root}.",
            hint="Name a directory outside with --data, for example /var/lib/syncova; no mode is changed for you.",
        )


def _check_space(root: Path) -> None:
    there = next(place for place in (root, *root.parents) if place.exists())
    free = shutil.disk_usage(there).free
    if free < FREE_SPACE_NEEDED:
        raise DataDirectoryError(
            f"{root} has {free >> 20} MiB free; the servers need {FREE_SPACE_NEEDED >> 20} MiB.",
            hint="Free some space, or name another --data.",
        )


def _check_socket_paths(layout: Layout) -> None:
    longest = max((os.fsencode(layout.sockets / name) for name in (POSTGRES_SOCKET, VALKEY_SOCKET)), key=len)
    if len(longest) > SOCKET_PATH_LIMIT:
        spare = SOCKET_PATH_LIMIT - (len(longest) - len(os.fsencode(layout.root)))
        raise SocketPathTooLongError(
            f"The data directory's path has {len(os.fsencode(layout.root))} bytes; its sockets leave room for {spare}.",
            hint="Name a shorter --data.",
        )
