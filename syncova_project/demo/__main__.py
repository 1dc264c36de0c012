"""`./syncova demo [PATH] [--keep] [--spoil]`: runs the story and turns its end into an exit code.

0 everything was shown, 1 something was not, 2 wrong usage, 130 interrupted. The private directory is removed each time.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from syncova_project.command_lines import CommandLineParser
from syncova_project.demo import peers, proof, story
from syncova_project.demo.scene import Scene
from syncova_project.demo.stage import Stage, stop_leftovers_in
from syncova_project.demo.summary import tell_figures, tell_next_steps
from syncova_project.demo.tree import copy_environment, tree_size
from syncova_project.demo.workspace import raise_on_termination, workspace
from syncova_project.errors import ConfigurationError, SyncovaError

_SERVERS_NEED = 1 << 30
_STEPS: tuple[Callable[[Scene], None], ...] = (
    story.servers,
    story.repository,
    story.job,
    story.first_run,
    story.second_run,
    story.crash,
    proof.damage,
    proof.secrecy,
    proof.restore,
)
_EXAMPLES = """\
examples:
  ./syncova demo                  a copy of the installed environment
  ./syncova demo ~/Documents      your own files; they are only read
  ./syncova demo --keep           afterwards the servers run on until Ctrl-C
  ./syncova demo --spoil          change a restored byte: the comparison must fail
"""


def main(words: list[str] | None = None) -> int:
    """Run the demo and return its exit code."""
    arguments = _parser().parse_args(words)
    raise_on_termination()
    try:
        _demo(arguments)
    except SyncovaError as error:
        sys.stdout.flush()
        hint = f"\n  {error.hint}" if error.hint else ""
        sys.stderr.write(f"\nsyncova demo: {error.code}: {error.message}{hint}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; the demo's directory was removed\n")
        return 130
    return 0


def _demo(arguments: argparse.Namespace) -> None:
    tree = None if arguments.path is None else os.fsencode(os.path.abspath(arguments.path))
    if tree is not None and not os.path.lexists(tree):
        raise ConfigurationError(f"{arguments.path} does not exist", hint="name a directory or a file")
    needed = _SERVERS_NEED + (tree_size(tree)[1] * 4 if tree and Path(os.fsdecode(tree)).is_dir() else 0)
    with workspace(keep=False, needed_bytes=needed, stop_leftovers=stop_leftovers_in) as directory:
        _say(f"Syncova's main job, on servers of its own in {directory}")
        stage = Stage(directory, _say, tree_is_copy=tree is None)
        stage.private.mkdir(mode=0o700)
        if tree is None:
            entries, size = _make_tree(stage.private / "tree")
            _say(f"The tree: a copy of the installed environment, {entries:,} entries, {size >> 20} MiB")
        scene = Scene(stage, tree or os.fsencode(stage.private / "tree"), _say, spoil=arguments.spoil)
        with stage.running():
            for step in _STEPS:
                step(scene)
            _finish(scene, arguments)


def _make_tree(place: Path) -> tuple[int, int]:
    copy_environment(place)
    return tree_size(os.fsencode(place))


def _finish(scene: Scene, arguments: argparse.Namespace) -> None:
    scene.step("Figures")
    tell_figures(scene, peers.restic_seconds(scene.stage.private, scene.tree, scene.password_file))
    if arguments.keep:
        scene.step("Kept: the servers run again until Ctrl-C")
        url = scene.stage.restart()
        _say(f"   {url}   user admin, password in {scene.stage.data}/secrets/admin_password")
        scene.stage.wait_until_interrupted()
    else:
        scene.step("Cleaned up")
        tell_next_steps(scene)


def _parser() -> CommandLineParser:
    parser = CommandLineParser(
        prog="syncova demo",
        description="Show the main job on a real tree, step by step, on servers of its own.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", nargs="?", metavar="PATH", type=Path, help="what to back up; it is only read")
    parser.add_argument("--keep", action="store_true", help="go on as `up` does when all was shown, until Ctrl-C")
    parser.add_argument(
        "--spoil", action="store_true", help="change one byte of the restored tree: the demo must then fail"
    )
    return parser


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
