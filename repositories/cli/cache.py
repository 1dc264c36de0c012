"""`syncova-repo cache`: what this machine keeps of repositories, and forgetting it."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from repositories.console import exits
from repositories.console.confirming import confirm
from repositories.console.failures import CommandError
from repositories.console.options import Argument, Option, OutputOptions
from repositories.console.repository_access import index_directory, require_named, seen_directory
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_bytes, show_count, show_path, show_text, show_time, time_field

if TYPE_CHECKING:
    from repositories.engine.high_water import HighWater

NAME = "cache"
HELP = (
    "Show what this machine keeps of repositories: which state it saw last, so that an older one is noticed (source, "
    "time and short id of the newest backups too), and of large ones the index, so that it need not be read each time; "
    "no contents, no names of files and no keys. --clear forgets it, of all repositories or of those named by their "
    "ids; nothing in a repository is touched."
)
EXAMPLES = ("cache", "cache --json", "cache --clear 9f3a11d27b6c4e0f8a5521c07d9e4b13 --yes")
_COLUMNS = ("REPOSITORY", "SEEN", "KEYS", "PRUNE", "BACKUPS", "INDEX", "SIZE")
_LEAVING = ".seen-"
_STATE = ".json"
_INDEX = ".index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutputOptions):
    """What `cache` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[REPOSITORY-ID…]", hidden=True)] = ()
    clear: Annotated[bool, Option("--clear", help="Forget it.")] = False
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False


@dataclass(frozen=True, slots=True)
class _Memory:
    """What is kept of one repository: two files at most.

    `state` is None where it cannot be read or is not there: it counts as none then. `index_size` is 0 without an index.
    """

    directory: Path
    indexes: Path
    repository_id: str
    size: int
    index_size: int
    written_ns: int
    state: "HighWater | None"

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files, and one that a killed process may have left."""
        index = self.indexes / f"{self.repository_id}{_INDEX}"
        return self.directory / f"{self.repository_id}{_STATE}", index, index.with_name(f".{index.name}")


def run(options: Options) -> int:
    """Print what is kept, or forget it."""
    terminal = terminal_of(options)
    directory = seen_directory()
    found = _chosen(_memories(directory), options.words)
    cleared = False
    if options.clear and found:
        what = show_count(len(found), "repository")
        question = f"Forget which state of {what} this machine saw last, and the indexes?"
        confirm(question, terminal, yes=options.yes, look="leave --clear out to see what it would forget")
        _clear(directory, found, everything=not options.words)
        cleared = True
    _print(terminal, directory, found, cleared=cleared)
    terminal.document(_document(directory, found, cleared=cleared))
    return exits.DONE


def _memories(directory: Path | None) -> list[_Memory]:
    indexes = index_directory()
    if directory is None or indexes is None:
        return []
    files = [*directory.glob(f"[!.]*{_STATE}"), *indexes.glob(f"[!.]*{_INDEX}")]
    return [_memory((directory, indexes), each) for each in sorted({path.stem for path in files})]


def _memory(directories: tuple[Path, Path], repository_id: str) -> _Memory:
    files = [place / f"{repository_id}{suffix}" for place, suffix in zip(directories, (_STATE, _INDEX), strict=True)]
    found = [_status(path) for path in files]
    sizes = [0 if each is None else each.st_size for each in found]
    written_ns = max((each.st_mtime_ns for each in found if each is not None), default=0)
    return _Memory(*directories, repository_id, sum(sizes), sizes[1], written_ns, _state(files[0]))


def _status(path: Path) -> os.stat_result | None:
    with contextlib.suppress(FileNotFoundError):
        return path.lstat()
    return None


def _state(path: Path) -> "HighWater | None":
    # Heavy; help and a wrong option should not wait for it.
    from repositories.engine.high_water import HighWater

    try:
        return msgspec.json.decode(path.read_bytes(), type=HighWater)
    except (OSError, msgspec.DecodeError):
        return None


def _chosen(found: list[_Memory], words: tuple[str, ...]) -> list[_Memory]:
    """Return those whose ids begin as one of `words`; all without any."""
    for word in require_named(words):
        if not any(each.repository_id.startswith(word) for each in found):
            raise CommandError(
                f"this machine keeps nothing of a repository {show_text(word)}", hint="cache shows what it keeps"
            )
    return [each for each in found if not words or each.repository_id.startswith(words)]


def _clear(directory: Path | None, found: list[_Memory], *, everything: bool) -> None:
    leavings = directory.glob(f"{_LEAVING}*") if everything and directory is not None else ()
    for path in (*(path for each in found for path in each.paths), *leavings):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise CommandError(
                f"{show_path(bytes(path))} cannot be removed: {error.strerror}", hint="check the permissions"
            ) from error


def _print(terminal: Terminal, directory: Path | None, found: list[_Memory], *, cleared: bool) -> None:
    if not found:
        terminal.line("this machine keeps nothing of any repository")
        return
    if cleared:
        terminal.line(f"forgotten: the state of {show_count(len(found), 'repository')}")
        terminal.note("the next command that opens one of them remembers it anew, whatever it shows")
        return
    terminal.columns(_COLUMNS, map(_row, found))
    terminal.note(f"kept in {show_path(bytes(directory))}" if directory is not None else "")


def _row(memory: _Memory) -> tuple[str, ...]:
    state = memory.state
    known = ("?", "?", "?") if state is None else (str(state.generation), str(state.sweep), str(len(state.manifests)))
    index = show_bytes(memory.index_size) if memory.index_size else "-"
    return show_text(memory.repository_id), show_time(memory.written_ns), *known, index, show_bytes(memory.size)


def _document(directory: Path | None, found: list[_Memory], *, cleared: bool) -> dict[str, Any]:
    return {
        "directory": None if directory is None else show_path(bytes(directory)),
        "cleared": cleared,
        "repositories": [
            {
                "repository_id": show_text(each.repository_id),
                "seen_at": time_field(each.written_ns),
                "bytes": each.size,
                "index_bytes": each.index_size,
                "keyring_generation": None if each.state is None else each.state.generation,
                "last_prune": None if each.state is None else each.state.sweep,
                "backups": None if each.state is None else len(each.state.manifests),
            }
            for each in found
        ],
    }
