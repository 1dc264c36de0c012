"""The edge of every command-line program: parses, runs, and turns every end into an exit code and one message.

Owns signals, broken pipes and the last resort for defects. Knows no command. The library that parses any command line
is imported where `plain_words` does not do.
"""

import contextlib
import importlib
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

from repositories.console import exits, streams
from repositories.console.failures import (
    Failure,
    Interrupted,
    OutputLostError,
    ReportedFailureError,
    StoppedError,
    describe,
    interruption,
)
from repositories.console.plain_words import read_plainly
from repositories.console.terminal import Terminal, color_wanted, silence
from repositories.console.version import VERSION
from syncova_project import env

if TYPE_CHECKING:
    import typer
    from typer.exceptions import TyperException


def new_program(name: str, help_text: str) -> "typer.Typer":
    """Return an empty program with --version; no foreign markup anywhere, help in plain text."""
    import typer

    app = typer.Typer(name=name, help=help_text, rich_markup_mode=None, pretty_exceptions_enable=False)

    def tell(wanted: bool) -> None:  # noqa: FBT001  (the library calls it with one positional value)
        if wanted:
            sys.stdout.write(f"{name} {VERSION}\n")
            raise typer.Exit(exits.DONE)

    @app.callback()
    def program(
        *,
        version: Annotated[
            bool, typer.Option("--version", callback=tell, is_eager=True, help="Print the version and exit.")
        ] = False,
    ) -> None:
        pass

    return app


def run(app: "typer.Typer", name: str, arguments: Sequence[str] | None = None) -> int:
    """Run the program with `arguments` (those of this process by default) and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return _at_the_edge(words, lambda: _call(app, name, words))


def run_verb(
    name: str, words: Sequence[str], named: tuple[str, Sequence[str]] | None, build: Callable[[], "typer.Typer"]
) -> int:
    """Run a program with `words` and return its exit code.

    `named` is the module of the verb that they begin with, and the words behind it. Where they are not plain, the
    program is built and reads all of them.
    """

    def act() -> int:
        if named is not None:
            verb = importlib.import_module(named[0])
            options = read_plainly(verb.Options, named[1])
            if options is not None:
                return int(verb.run(options))
        return _call(build(), name, list(words))

    return _at_the_edge(words, act)


def _at_the_edge(words: Sequence[str], act: Callable[[], int]) -> int:
    streams.complete()
    terminal = terminal_for(words)
    with _signals_as_exceptions():
        try:
            env.process_environment().refuse_unknown()
            code = act()
            terminal.flush()
        except BrokenPipeError:
            return _reader_is_gone()
        except Interrupted as interrupted:
            return _fail(terminal, interruption(interrupted))
        except Exception as error:  # noqa: BLE001  (the process edge: one line instead of a traceback)
            return _fail(terminal, _failure(error, terminal))
    return code


def terminal_for(words: Sequence[str]) -> Terminal:
    """Return the terminal that failures before and after parsing go to: --json counts wherever it stands."""
    own = list(words[: words.index("--")]) if "--" in words else list(words)
    return Terminal(
        json="--json" in own,
        verbose="-v" in own or "--verbose" in own,
        color=color_wanted(),
    )


def _call(app: "typer.Typer", name: str, words: list[str]) -> int:
    import typer
    from typer.exceptions import Abort, TyperException

    try:
        result = typer.main.get_command(app).main(args=words, prog_name=name, standalone_mode=False)
    except TyperException as error:
        failure = Failure("USAGE", error.format_message().strip(), _usage_hint(error), error.exit_code)
        raise ReportedFailureError(failure) from error
    except Abort as error:
        raise _unanswered() from error
    return result if isinstance(result, int) else exits.DONE


def _unanswered() -> StoppedError:
    return StoppedError("the question was not answered", hint="run it again")


def _failure(error: Exception, terminal: Terminal) -> Failure:
    if isinstance(error, EOFError):
        # What was typed ended in the middle of a line.
        sys.stderr.write("\n")
        error = _unanswered()
    known = describe(error)
    if known is None and isinstance(error, OSError):
        known = _lost_output(terminal)
    if known is not None:
        return known
    if terminal.verbose:
        import traceback

        traceback.print_exc(file=sys.stderr)
    return Failure("INTERNAL", f"{type(error).__name__}: {error}", "run it with -v and report what it prints")


def _lost_output(terminal: Terminal) -> Failure | None:
    # Help is printed by the library, and what it could not write still waits to be written.
    try:
        terminal.flush()
    except OutputLostError as lost:
        return describe(lost)
    return None


def _usage_hint(error: "TyperException") -> str:
    context = getattr(error, "ctx", None)
    return f"see {context.command_path} --help" if context is not None else "see --help"


def _fail(terminal: Terminal, failure: Failure) -> int:
    try:
        terminal.failure(failure)
        terminal.flush()
    except (BrokenPipeError, OutputLostError):
        return _reader_is_gone(failure.exit_code)
    return failure.exit_code


def _reader_is_gone(code: int = exits.FAILED) -> int:
    # The interpreter flushes stdout once more at its end and would print a traceback then.
    with contextlib.suppress(OSError):
        silence(sys.stdout)
    return code


@contextlib.contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    codes = {signal.SIGINT: exits.INTERRUPTED, signal.SIGTERM: exits.TERMINATED, signal.SIGHUP: exits.TERMINATED}

    def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
        raise Interrupted(codes[signal.Signals(number)])

    # What the caller has switched off (nohup, a shell's background jobs) stays off.
    heard = [number for number in codes if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
