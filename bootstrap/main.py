"""Entry of ./syncova: reads the command line, gets `.venv` ready and becomes the program asked for.

Owns nothing that lasts. Everything after the command's name goes to its program untouched, except `--wheels`.
"""

import os
import re
import shutil
import sys
import tempfile
from typing import Dict, List, Optional, Tuple

from bootstrap import commands, environment, interpreters, packages, sandbox
from bootstrap.failures import USAGE, BootstrapError
from bootstrap.packages import Source

CLONE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def main(arguments: List[str]) -> int:
    """Run one command line; returns an exit code only when no other program took over."""
    _complete_streams()
    try:
        code = _dispatch(*_without_wheels(arguments))
        return _flushed(code)
    except BootstrapError as error:
        sys.stderr.write("syncova: {}\n".format(error.message))
        _tell_programs(arguments, error)
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("syncova: interrupted\n")
        return 130


def _complete_streams() -> None:
    # A closed stream's number would go to the next file that is opened, and the result into that file. The stand-in
    # takes no data: what is written there fails, and the program says so.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
            os.set_inheritable(number, True)  # noqa: FBT003  (takes no names)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError as error:
        # Tried again at the interpreter's end otherwise, with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise BootstrapError("cannot write to standard output: {}".format(error.strerror)) from error
    return code


def _tell_programs(arguments: List[str], error: BootstrapError) -> None:
    # As every command does with --json; what the command itself would print, nothing here knows.
    if error.exit_code == USAGE and "--json" in arguments:
        import contextlib
        import json

        shape = {"error": {"code": "USAGE", "message": error.message, "hint": "see ./syncova --help"}}
        with contextlib.suppress(OSError):
            sys.stdout.write(json.dumps(shape) + "\n")
            sys.stdout.flush()


def _dispatch(arguments: List[str], wheels: Optional[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(commands.help_text())
        return 0 if arguments else USAGE
    if arguments[0] == "--version":
        sys.stdout.write("syncova {}\n".format(_version()))
        return 0
    if arguments[0].startswith("-"):
        raise BootstrapError("unknown option {}; ./syncova --help lists them".format(arguments[0]), USAGE)
    if arguments[0] == "wheels":
        return _fetch_wheels(arguments[1:])
    if arguments[0] == "install":
        return _install(arguments[1:], Source(wheels))
    return _become(commands.find(arguments[0]), arguments[1:], Source(wheels))


def _without_wheels(arguments: List[str]) -> Tuple[List[str], Optional[str]]:
    left: List[str] = []
    wheels: Optional[str] = None
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*left, word, *rest], wheels
        if word == "--wheels":
            if not rest:
                raise BootstrapError("--wheels needs a directory", USAGE)
            wheels = rest.pop(0)
        elif word.startswith("--wheels="):
            wheels = word[len("--wheels=") :]
        else:
            left.append(word)
    return left, _wheels_directory(wheels)


def _wheels_directory(wheels: Optional[str]) -> Optional[str]:
    if wheels is not None and not os.path.isdir(wheels):
        raise BootstrapError("--wheels: {} is not a directory; ./syncova wheels DIR makes one".format(wheels), USAGE)
    return None if wheels is None else os.path.abspath(wheels)


def _become(command: commands.Command, arguments: List[str], source: Source) -> int:
    python = environment.ready(CLONE, command.layer, source)
    program = [part.format(clone=CLONE) for part in command.program]
    variables = _variables()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        if command.layer == "dev":
            variables = sandbox.enter(CLONE, variables)
        if command.name == "test":
            program.append(sandbox.session_directory(CLONE))
        os.execve(python, [python, *program, *arguments], variables)
    except OSError as error:
        raise BootstrapError("cannot start {}: {} ({})".format(command.name, error.strerror, error.filename)) from error


def _variables() -> Dict[str, str]:
    # The program and its children import the product and .venv: not the caller's modules, not the working directory.
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    kept["PYTHONSAFEPATH"] = "1"
    return kept


def _install(arguments: List[str], source: Source) -> int:
    if len(arguments) != 1 or arguments[0] not in environment.EXTRAS:
        raise BootstrapError("usage: ./syncova install {}".format("|".join(environment.EXTRAS)), USAGE)
    environment.add_extra(CLONE, arguments[0], source)
    sys.stdout.write("{} is installed\n".format(arguments[0]))
    return 0


def _fetch_wheels(arguments: List[str]) -> int:
    directory, layer = _wheels_arguments(arguments)
    python = interpreters.pick(os.environ.get("PATH", os.defpath))
    work = tempfile.mkdtemp(prefix="syncova-wheels-")
    try:
        os.makedirs(directory, exist_ok=True)
        packages.download(
            python.executable, packages.lock_file(CLONE, layer), os.path.abspath(directory), os.path.join(work, "log")
        )
    except OSError as error:
        raise BootstrapError("cannot write to {}: {}".format(directory, error.strerror)) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.stdout.write(
        "{}: wheels for Python {}.{} on this platform\n".format(directory, python.version[0], python.version[1])
    )
    return 0


def _wheels_arguments(arguments: List[str]) -> Tuple[str, str]:
    rest = list(arguments)
    layer = environment.LAYERS[-1]
    if "--layer" in rest[:-1]:
        at = rest.index("--layer")
        layer = rest[at + 1]
        del rest[at : at + 2]
    known = [*environment.LAYERS, *environment.EXTRAS]
    if len(rest) != 1 or rest[0].startswith("-") or layer not in known:
        raise BootstrapError("usage: ./syncova wheels DIR [--layer {}]".format("|".join(known)), USAGE)
    return rest[0], environment.EXTRAS.get(layer, layer)


def _version() -> str:
    with open(os.path.join(CLONE, "pyproject.toml"), encoding="utf-8") as stream:
        found = re.search(r'^version = "([^"]+)"$', stream.read(), re.MULTILINE)
    if found is None:
        raise BootstrapError("pyproject.toml names no version")
    return found.group(1)
