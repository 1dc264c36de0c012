"""The logs of a stack: bounded in size, shown together or alone, followed on demand.

Owns their rotation and their display. Processes append, so a log is emptied in place and never renamed away.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from syncova_project import clock
from syncova_project.embedded.layout import Layout
from syncova_project.embedded.problems import StackError
from syncova_project.log import single_line

LONGEST = 16 << 20
_TAIL_BYTES = 1 << 20
_FOLLOW_SECONDS = 0.3


def bound(layout: Layout, longest: int = LONGEST) -> None:
    """Move a log that grew too long to NAME.log.1, replacing the one before; lines written meanwhile may be lost."""
    for log in layout.logs.glob("*.log"):
        if log.stat().st_size > longest:
            kept = log.with_name(f"{log.name}.1")
            shutil.copyfile(log, kept)
            kept.chmod(0o600)
            with log.open("r+b") as file:
                file.truncate(0)


def chosen(layout: Layout, name: str | None) -> list[Path]:
    """Return the log of one process, or all; raises StackError naming those that exist."""
    logs = sorted(layout.logs.glob("*.log"))
    if not logs:
        raise StackError(f"There is no log in {layout.logs}: nothing was started there.", hint="Is --data right?")
    if name is None:
        return logs
    wanted = [log for log in logs if log.stem == name]
    if not wanted:
        names = ", ".join(log.stem for log in logs)
        raise StackError(f"There is no log of {name} in {layout.logs}.", hint=f"Logs: {names}.")
    return wanted


def last_lines(log: Path, count: int) -> list[str]:
    """Return the last lines of a log, made harmless for a terminal."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return [single_line(line) for line in lines[-count:]] if count else []


def follow(logs: list[Path], stopped: Callable[[], bool]) -> Iterator[tuple[Path, str]]:
    """Yield whole lines as they are written, until `stopped`; an emptied log is read from its start again."""
    positions = {log: log.stat().st_size for log in logs}
    rests = dict.fromkeys(logs, b"")
    while not stopped():
        for log in logs:
            size = log.stat().st_size
            if size < positions[log]:
                positions[log], rests[log] = 0, b""
            if size > positions[log]:
                with log.open("rb") as file:
                    file.seek(positions[log])
                    content = rests[log] + file.read(_TAIL_BYTES)
                    positions[log] = file.tell()
                *whole, rests[log] = content.split(b"\n")
                yield from ((log, single_line(line.decode("utf-8", "replace"))) for line in whole)
        clock.sleep(_FOLLOW_SECONDS)
