"""`./syncova bench engine`: backup, restore, check and prune of trees, beside restic and borg where they are found.

Owns the command line, the heading and what is refused before anything runs. Each step is a process of its own, started
as a person starts it.
"""

import dataclasses
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from repositories.console import exits
from repositories.console.entry import run
from repositories.console.failures import CommandError
from repositories.console.options import OutputOptions
from repositories.console.terminal import Terminal, terminal_of
from repositories.console.verbs import PlainCommand, command
from repositories.engine.display import show_bytes, show_count
from tests.benchmarks.machine import can_drop_caches, this_machine
from tests.benchmarks.measuring import files_below
from tests.benchmarks.rounds import Round, copy_failure
from tests.benchmarks.summary import HEAD, Rounds, cells, failures, summarise
from tests.benchmarks.tools import SYNCOVA, Tool, find_tools
from tests.benchmarks.trees import IMAGE_BYTES, SMALL_FILES, Tree, make_disk_image, make_small_files

HELP = (
    "Measure Syncova and the peers found (restic and borg: on PATH, or named by RESTIC and BORG) by the same work, "
    "alternately. Without TREE it makes two from this machine's files: small files and a disk image. Trees are copied, "
    "never changed. A ratio says how many times as much as Syncova a peer took."
)


class MeasuringFailedError(CommandError):
    """A step of ours failed, or a tree could not be copied: there is nothing to compare."""

    code = "MEASURING_FAILED"
    exit_code = exits.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutputOptions):
    """What `bench engine` takes."""

    trees: Annotated[tuple[str, ...], Argument(metavar="[TREE…]", help="Directories to back up.")] = ()
    rounds: Annotated[int, Option("--rounds", metavar="N", min=1, help="So many rounds.")] = 3
    cold: Annotated[bool, Option("--cold", help="Empty the system's caches before each step (root).")] = False
    tool: Annotated[
        tuple[str, ...], Option("--tool", metavar="NAME", help="Only this tool: syncova, restic, borg; repeatable.")
    ] = ()
    work: Annotated[str | None, Option("--work", metavar="DIR", help="Work here; else in TMPDIR.")] = None
    files: Annotated[int, Option("--files", metavar="N", min=1, help="Files of the tree made.")] = SMALL_FILES
    image_mib: Annotated[int, Option("--image-mib", metavar="N", min=1, help="Size of the image made.")] = (
        IMAGE_BYTES >> 20
    )


def main(words: list[str]) -> int:
    """Backup, unchanged backup, restore, check and prune, beside restic and borg."""
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    app.command(cls=PlainCommand, help=HELP)(command(Options, measure_all))
    return run(app, "syncova bench engine", words)


def measure_all(options: Options) -> int:
    """Measure and print; exit 3 if a peer failed on the way, 1 if Syncova did."""
    terminal = terminal_of(options)
    tools = _chosen(options.tool)
    given = [_given(each) for each in options.trees]
    if options.cold and not can_drop_caches():
        raise CommandError("the system's caches can only be emptied by root on Linux", hint="leave --cold out")
    place = _place(options.work)
    machine = this_machine(place)
    heading = {**dataclasses.asdict(machine), "caches": "cold" if options.cold else "warm", "rounds": options.rounds}
    versions = {tool.name: tool.version for tool in tools}
    _head(terminal, heading, versions)
    with tempfile.TemporaryDirectory(prefix="syncova-bench-", dir=place) as work:
        trees = given or _made(options, Path(work), terminal)
        results = [_measure_tree(tree, tools, options, place, terminal) for tree in trees]
    document = {"machine": heading, "versions": versions, "load_after": os.getloadavg()[0], "trees": results}
    terminal.document(document)
    terminal.line(f"load at the end: {document['load_after']:.1f}")
    return exits.SKIPPED if any(each["failures"] for each in results) else exits.DONE


def _chosen(names: Sequence[str]) -> list[Tool]:
    found = find_tools()
    for name in names:
        if not any(tool.name.startswith(name) for tool in found):
            there = ", ".join(tool.name for tool in found)
            raise CommandError(f"{name} is not found; there is: {there}", hint="put it on PATH, or set RESTIC or BORG")
    return [tool for tool in found if not names or any(tool.name.startswith(name) for name in names)]


def _given(word: str) -> Tree:
    path = Path(word).absolute()
    if not path.is_dir():
        raise CommandError(f"{path} is no directory", hint="name directories to back up, or none")
    return Tree(str(path), path)


def _place(word: str | None) -> Path:
    place = Path(word or tempfile.gettempdir()).absolute()
    if not os.access(place, os.W_OK | os.X_OK) or not place.is_dir():
        raise CommandError(f"{place} is no directory to work in", hint="give another with --work")
    return place


def _made(options: Options, place: Path, terminal: Terminal) -> list[Tree]:
    terminal.note("making the trees")
    small = make_small_files(place / "small", options.files)
    return [small, make_disk_image(place / "image", options.image_mib << 20)]


def _measure_tree(tree: Tree, tools: list[Tool], options: Options, place: Path, terminal: Terminal) -> dict[str, Any]:
    files, size = files_below(tree.path)
    _refuse_if_full(place, size * (2 + len(tools)), tree)
    terminal.line()
    terminal.line(f"{tree.name}: {show_count(files, 'file')}, {show_bytes(size)}")
    rounds: list[Any] = []
    for number in range(options.rounds):
        try:
            rounds.append(Round(tools, tree, number, options.cold, terminal.note).run(place))
        except subprocess.CalledProcessError as error:
            raise MeasuringFailedError(f"{tree.name} cannot be copied: {copy_failure(error)}") from error
        _refuse_our_failure(rounds)
    rows, failed = summarise(rounds), failures(rounds)
    terminal.columns(HEAD, cells(rows))
    for name, why in failed.items():
        terminal.warning(f"{name} failed: {why}")
    return {"name": tree.name, "files": files, "bytes": size, "steps": rows, "failures": failed}


def _refuse_our_failure(rounds: Rounds) -> None:
    ours = failures(rounds).get(SYNCOVA)
    if ours is not None:
        raise MeasuringFailedError(f"Syncova failed: {ours}")


def _refuse_if_full(place: Path, needed: int, tree: Tree) -> None:
    free = shutil.disk_usage(place).free
    if free < needed:
        raise CommandError(
            f"{place} has {show_bytes(free)} free; {tree.name} may need {show_bytes(needed)}",
            hint="give another directory with --work, or fewer tools with --tool",
        )


def _head(terminal: Terminal, heading: dict[str, Any], versions: dict[str, str]) -> None:
    rounds = show_count(heading["rounds"], "round")
    terminal.table(
        [
            ("processor", f"{heading['processor']}, {show_count(heading['cores'], 'core')}"),
            ("memory", show_bytes(heading["memory_bytes"])),
            ("file system", f"{heading['file_system']}, {heading['kernel']}"),
            ("load", f"{heading['load']:.1f} at the beginning; caches {heading['caches']}; {rounds}"),
            *versions.items(),
        ]
    )
