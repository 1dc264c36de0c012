"""The demo's stage: servers and processes of its own, and the commands that are shown and really run.

Owns the stack's life in a private directory. Never touches servers named in the environment: of all SYNCOVA_ settings
only the service user is taken over.
"""

import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from syncova_project import clock, env
from syncova_project.embedded import binding, layout, ownership
from syncova_project.embedded.accounts import service_account
from syncova_project.embedded.console import Console
from syncova_project.embedded.leftovers import stop_leftovers
from syncova_project.embedded.python_copy import own_interpreter
from syncova_project.embedded.stack import Stack, StackOptions
from syncova_project.errors import SyncovaError

# Crash detection in seconds instead of minutes, so that the demo ends within about one.
_QUICK = {
    "SYNCOVA_TICK_SECONDS": "1",
    "SYNCOVA_HEARTBEAT_SECONDS": "1",
    "SYNCOVA_ORPHAN_SECONDS": "4",
    "SYNCOVA_RETRY_SECONDS": "2",
    "SYNCOVA_LOG_LEVEL": "warning",
}
_MODULES = {"ctl": "jobs.ctl", "repo": "repositories.cli", "agent": "agents.runtime"}


class DemoError(SyncovaError):
    """A step did not show what it had to show; the message says what was seen."""

    code = "DEMO_FAILED"


@dataclass(slots=True)
class Stage:
    """A running stack and the way to run commands against it. Commands run in the calling thread."""

    directory: Path
    say: Callable[[str], None]
    tree_is_copy: bool = True
    _stack: Stack | None = None
    _watcher: threading.Thread | None = None
    _ended: threading.Event = field(default_factory=threading.Event)

    @property
    def data(self) -> Path:
        """The stack's data directory."""
        return self.directory / "data"

    @property
    def private(self) -> Path:
        """Where tree, repository and password lie: 0700, no way for the servers' user."""
        return self.directory / "private"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold the data directory; whatever was started inside is stopped at the end."""
        options = _options(self.data)
        if options.account.switched:
            self.directory.chmod(0o711)  # the servers' user must pass to their data, and sees nothing else
        layout.prepare(options.layout, options.account)
        with ownership.owning(options.layout):
            self._stack = Stack(options, Console(quiet=True))
            try:
                yield
            finally:
                self.stop()

    def start(self) -> str:
        """Start servers and processes; return web's address."""
        stack = self._the_stack()
        stack.start()
        self._watcher = threading.Thread(target=self._watch, name="demo-stack", daemon=True)
        self._watcher.start()
        return stack.url

    def restart(self) -> str:
        """Start everything again after `stop`; return web's address."""
        self._ended.clear()
        self._stack = Stack(_options(self.data), Console(quiet=True))
        return self.start()

    def stop(self) -> None:
        """Stop everything; safe to repeat."""
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join()
            self._watcher = None
        if self._stack is not None:
            self._stack.stop()
            self._stack = None

    def wait_until_interrupted(self) -> None:
        """Go on as `up` does, until Ctrl-C."""
        while not self._ended.wait(0.5):
            pass

    def kill_worker(self) -> int:
        """SIGKILL the backup worker and all its children, as a crash would; return its pid."""
        record = ownership.read_record(layout.Layout(self.data))
        workers = [member for member in record.members if member.name == "work"] if record else []
        if not workers:
            raise DemoError("the backup worker is not running", hint="see the log in the data directory")
        os.killpg(workers[0].pid, signal.SIGKILL)
        return workers[0].pid

    def command(self, *words: str, expect: int = 0) -> dict[str, Any]:
        """Show and run `./syncova WORDS`; return its JSON. Raises DemoError for another exit code than `expect`."""
        self.say("$ ./syncova " + shlex.join(words))
        return self.quietly(*words, expect=expect)

    def quietly(self, *words: str, expect: int = 0) -> dict[str, Any]:
        """Run as `command` does, without showing it."""
        interpreter = own_interpreter()
        argv = [*interpreter.argv, "-m", _MODULES[words[0]], *words[1:], "--json"]
        environment = env.inherited(without_settings=True) | interpreter.variables
        environment |= {"SYNCOVA_DATA_DIR": str(self.data), "SYNCOVA_SETTINGS_FILE": os.devnull}
        done = subprocess.run(argv, env=environment, capture_output=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != expect:
            raise DemoError(
                f"{words[0]} {words[1]} ended with {done.returncode} instead of {expect}: {_tail(done)}",
                hint="run the demo with --keep and look into its data directory",
            )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            self._the_stack().look_after()

    def _the_stack(self) -> Stack:
        if self._stack is None:
            raise DemoError("the demo's servers are already stopped")
        return self._stack


def stop_leftovers_in(directory: Path) -> None:
    """Stop what a killed demo left running in its directory."""
    if (directory / "data").is_dir():
        stop_leftovers(layout.Layout(directory / "data"), lambda _line: None, 3.0)


def wait_for(look: Callable[[], dict[str, Any] | None], what: str, seconds: float = 90.0) -> dict[str, Any]:
    """Return what `look` finds as soon as it finds something. Raises DemoError after `seconds`."""
    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        found = look()
        if found is not None:
            return found
        clock.sleep(0.2)
    raise DemoError(f"waited {seconds:.0f} s in vain for {what}")


def _options(data: Path) -> StackOptions:
    given = env.process_environment().variables
    kept = {name: given[name] for name in ("SYNCOVA_SERVICE_USER",) if name in given}
    settings = {"SYNCOVA_DATA_DIR": str(data), **_QUICK}
    environment = env.Environment({**kept, **{name: env.Found(value, "demo") for name, value in settings.items()}})
    return StackOptions(
        layout=layout.Layout(data),
        account=service_account(environment.text("SYNCOVA_SERVICE_USER")),
        environment=environment,
        binding=binding.Binding(address=binding.DEFAULT_ADDRESS, port=0),
        throwaway=True,
    )


def _tail(done: "subprocess.CompletedProcess[bytes]") -> str:
    lines: Sequence[str] = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
