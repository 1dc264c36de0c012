"""`up`: the starter's own life, in the foreground or detached, until a signal asks it to stop.

Owns signal handling, the checks before anything is touched, and what the starter prints.
"""

import argparse
import signal
import subprocess
import sys
import threading
from pathlib import Path

from syncova_project import clock, env
from syncova_project.embedded import binding as bindings
from syncova_project.embedded import claiming, leftovers, log_files, ownership, processes, settings_check
from syncova_project.embedded import layout as layouts
from syncova_project.embedded.accounts import service_account
from syncova_project.embedded.console import Console
from syncova_project.embedded.first_start import ADMIN_PASSWORD
from syncova_project.embedded.problems import DataDirectoryError, StackError
from syncova_project.embedded.python_copy import own_interpreter
from syncova_project.embedded.stack import Stack, StackOptions

_LOOK_SECONDS, _LOG_SECONDS = 0.25, 60.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Programs that tidy up temporary directories would take the truth away.
_TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - named to be refused
_DETACHED_LOG = "up"


def up(arguments: argparse.Namespace, console: Console) -> int:
    """Run the stack; returns the exit code."""
    options = options_of(arguments)
    bindings.check(options.binding)
    refuse_temporary(options.layout.root)
    try:
        _check(options)
    except OSError as error:
        raise layouts.directory_error(options.layout.root, error) from error
    if options.account.warning:
        console.warn(options.account.warning)
    if arguments.dry_run:
        console.say(f"Would start in {options.layout.root}, servers as {options.account.name}")
        return 0
    try:
        layouts.prepare(options.layout, options.account)
        if warning := layouts.space_warning(options.layout):
            console.warn(warning)
        if arguments.detach:
            return _detach(options, console)
        with ownership.owning(options.layout):
            return _run(Stack(options, console), console)
    except OSError as error:
        raise layouts.directory_error(options.layout.root, error) from error


def _check(options: StackOptions) -> None:
    """Raise what would keep the start from coming up, as long as nothing is changed yet."""
    ownership.refuse_live_owner(options.layout)
    layouts.check(options.layout, options.account)
    # What a killed starter left still listens there, and is stopped before the port is wanted.
    if not processes.writers_of(options.layout.logs):
        bindings.listen(options.binding).close()


def options_of(arguments: argparse.Namespace) -> StackOptions:
    """Return what the command line and the settings ask for."""
    environment = env.load(arguments.data)
    settings_check.check(environment)
    root = env.data_directory(environment)
    claiming.check_named(root)
    public = environment.variables.get("SYNCOVA_PUBLIC_URL") or environment.variables.get("SYNCOVA_PUBLIC_URL_FILE")
    binding = bindings.Binding(
        address=arguments.bind,
        port=arguments.port,
        certificate=arguments.tls_cert,
        key=arguments.tls_key,
        insecure=arguments.insecure,
        public_url=public.value if public else "",
    )
    account = service_account(environment.text("SYNCOVA_SERVICE_USER"))
    return StackOptions(layouts.Layout(root.resolve()), account, environment, binding)


def refuse_temporary(root: Path) -> None:
    """Raise DataDirectoryError for a place that other programs empty."""
    for place in _TEMPORARY:
        if root.is_relative_to(place):
            raise DataDirectoryError(
                f"{root} lies below {place}, which the system empties now and then.",
                hint="Name a lasting directory with --data.",
            )


class _StopAsked:
    """A signal handler: breaks off a start once, afterwards only remembers."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.starting = True

    def __call__(self, number: int, frame: object) -> None:
        is_first = not self.event.is_set()
        self.event.set()
        if self.starting and is_first:
            raise KeyboardInterrupt


def _run(stack: Stack, console: Console) -> int:
    asked = _StopAsked()
    for number in _SIGNALS:
        # Under nohup a lost terminal must not stop the stack.
        if signal.getsignal(number) is not signal.SIG_IGN or number is not signal.SIGHUP:
            signal.signal(number, asked)
    is_first = not (stack.options.layout.secrets / ADMIN_PASSWORD).exists()
    try:
        stack.start()
        asked.starting = False
    except KeyboardInterrupt:
        asked.starting = False
        stack.stop()
        console.say("Stopped before everything was up")
        return 0
    _greet(stack.options, stack.url, is_first=is_first, console=console)
    try:
        _look_after(stack, asked.event)
    finally:
        console.say("Stopping")
        stack.stop()
    console.say("Stopped; the next `up` goes on from here")
    return 0


def _look_after(stack: Stack, asked: threading.Event) -> None:
    bound_at = clock.monotonic()
    while not asked.wait(_LOOK_SECONDS):
        stack.look_after()
        if clock.monotonic() - bound_at > _LOG_SECONDS:
            bound_at = clock.monotonic()
            _bound_logs(stack)


def _bound_logs(stack: Stack) -> None:
    try:
        log_files.bound(stack.options.layout)
    except OSError as error:
        stack.console.warn(f"The logs could not be shortened: {error.strerror}")


def _greet(options: StackOptions, url: str, *, is_first: bool, console: Console) -> None:
    console.say(f"Syncova runs on {url} (data: {options.layout.root})")
    password = options.layout.secrets / ADMIN_PASSWORD
    if is_first:
        console.say(f"User: admin, password in {password}")
        console.reveal("Password", password)


def _detach(options: StackOptions, console: Console) -> int:
    is_first = not (options.layout.secrets / ADMIN_PASSWORD).exists()
    with ownership.owning(options.layout):
        # Here, where somebody reads it; the starter then finds nothing left to stop.
        leftovers.stop_leftovers(options.layout, console.say)
    interpreter = own_interpreter()
    words = [word for word in sys.argv[1:] if word not in {"-d", "--detach"}]
    command = processes.Command(
        name=_DETACHED_LOG,
        argv=(*interpreter.argv, "-m", "syncova_project.embedded", *words),
        environment=env.inherited() | interpreter.variables,
        directory=Path.cwd(),
        log=options.layout.log(_DETACHED_LOG),
    )
    child = processes.spawn(command)
    return _await(child, options, is_first=is_first, console=console)


def _await(child: "subprocess.Popen[bytes]", options: StackOptions, *, is_first: bool, console: Console) -> int:
    while True:
        record = ownership.read_record(options.layout)
        if record is not None and record.pid == child.pid and record.phase == "ready":
            _greet(options, record.url, is_first=is_first, console=console)
            return 0
        if child.poll() is not None:
            log = options.layout.log(_DETACHED_LOG)
            said = processes.last_line(log)
            # The starter's own sentence holds its next step already.
            told = said.removeprefix("syncova: ")
            raise StackError(told or "The stack ended at once.", hint="" if told != said else f"The log is {log}.")
        clock.sleep(0.1)
