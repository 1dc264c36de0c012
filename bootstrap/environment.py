"""Makes, checks and extends `.venv`. Owns its stamp, its lock and the swap; what goes in is packages' business.

The stamp is written last, so a directory with one is whole. A build happens beside (`.venv.new`) and is renamed into
place, so an interrupted one changes nothing. A `.venv` without our stamp is somebody else's and is never touched.
"""

import fcntl
import glob
import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import Any, Dict, Iterator, NamedTuple, Optional, Sequence

from bootstrap import interpreters, packages
from bootstrap.failures import BootstrapError
from bootstrap.interpreters import Interpreter
from bootstrap.packages import Source

LAYERS = ("base", "embedded", "dev")  # each holds the ones before it
EXTRAS = {"s3": "s3", "webdav": "s3", "sftp": "sftp"}  # what people ask for, and the lock that brings it
STAMP = "syncova-stamp.json"
FORMAT = 1


class Places(NamedTuple):
    """The paths of one clone."""

    clone: str

    @property
    def live(self) -> str:
        """Return the environment in use."""
        return os.path.join(self.clone, ".venv")

    @property
    def building(self) -> str:
        """Return where a new one is built."""
        return os.path.join(self.clone, ".venv.new")

    @property
    def old(self) -> str:
        """Return where the replaced one waits to be removed."""
        return os.path.join(self.clone, ".venv.old")

    @property
    def log(self) -> str:
        """Return where pip's output is kept."""
        return os.path.join(self.clone, ".venv.log")

    @property
    def lock(self) -> str:
        """Return the file that one builder at a time holds."""
        return os.path.join(self.clone, ".venv.lock")


class Stamp(NamedTuple):
    """What an environment was made from."""

    clone: str
    layer: str
    lock_sha256: str
    interpreter: Dict[str, Any]
    extras: Sequence[str] = ()


def python_of(environment: str) -> str:
    """Return the interpreter of an environment."""
    return os.path.join(environment, "bin", "python")


def ready(clone: str, layer: str, source: Source) -> str:
    """Return the Python of an environment that has the layer, making or extending it first when it must be.

    Safe with several at once: one builds, the others wait and use its work. BootstrapError in one line otherwise.
    """
    places = Places(clone)
    if not _fits(places, layer):
        _refuse_foreign(places)
        with _alone(places):
            _refuse_foreign(places)
            if not _fits(places, layer):
                _make_ready(places, layer, source)
    return python_of(places.live)


def add_extra(clone: str, extra: str, source: Source) -> None:
    """Install what an extra needs; it stays when `.venv` is made anew. BootstrapError in one line otherwise."""
    ready(clone, LAYERS[0], source)
    places, lock = Places(clone), EXTRAS[extra]
    with _alone(places):
        stamp = _current(places)
        if stamp is None:
            raise BootstrapError("{} was changed meanwhile; start again".format(places.live))
        if lock not in stamp.extras:
            _say("adding to .venv what {} needs".format(extra))
            packages.install(python_of(places.live), packages.lock_file(clone, lock), source, places.log)
            _write_stamp(places, places.live, stamp.layer, [*stamp.extras, lock])
            _remove(places.log)


def read_stamp(environment: str) -> Optional[Stamp]:
    """Return the stamp, or None when it is missing or says nothing we know."""
    try:
        with open(os.path.join(environment, STAMP), encoding="utf-8") as stream:
            fields = json.load(stream)
        if fields.pop("format") != FORMAT:
            return None
        return Stamp(**fields)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _fits(places: Places, layer: str) -> bool:
    stamp = _current(places)
    return stamp is not None and LAYERS.index(stamp.layer) >= LAYERS.index(layer)


def _current(places: Places) -> Optional[Stamp]:
    # The stamp, if the environment is still what its clone asks for; None means it must be made anew.
    stamp = read_stamp(places.live)
    if stamp is None or stamp.layer not in LAYERS or stamp.clone != places.clone:
        return None
    if stamp.lock_sha256 != _digest_of_locks(places.clone, stamp.layer, stamp.extras):
        return None
    return stamp if stamp.interpreter == _fingerprint(python_of(places.live)) else None


def _digest_of_locks(clone: str, layer: str, extras: Sequence[str]) -> str:
    # An extra whose lock has changed must be brought up to date as well.
    locks = [layer, *(each for each in sorted(extras) if each in EXTRAS.values())]
    return ",".join(packages.digest(packages.lock_file(clone, each)) for each in locks)


def _fingerprint(python: str) -> Optional[Dict[str, Any]]:
    # Follows the link to the program itself: an upgrade of the system's Python shows in its size or time.
    try:
        path = os.path.realpath(python)
        about = os.stat(path)
    except OSError:
        return None
    return {"path": path, "size": about.st_size, "mtime_ns": about.st_mtime_ns}


def _refuse_foreign(places: Places) -> None:
    if os.path.lexists(places.live) and not os.path.isfile(os.path.join(places.live, STAMP)):
        raise BootstrapError("{} was not made by ./syncova; move it away and start again".format(places.live))


def _why_to_write(places: Places) -> str:
    stamp = read_stamp(places.live)
    if stamp is None:
        return "its .venv is not made yet"
    python = str(stamp.interpreter.get("path", "a Python that is gone"))
    if not os.access(python, os.X_OK):
        return "its .venv was made with {}, which you may not run or which is gone".format(python)
    return "its .venv is not what this command needs and must be made anew or added to"


@contextmanager
def _alone(places: Places) -> Iterator[None]:
    try:
        descriptor = os.open(places.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise BootstrapError(
            "cannot write to {}: {}; {}: work in a clone of your own (git clone)".format(
                places.clone, error.strerror, _why_to_write(places)
            )
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            _say("waiting for another ./syncova that prepares {}".format(places.live))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make_ready(places: Places, layer: str, source: Source) -> None:
    stamp = _current(places)
    try:
        if stamp is not None:
            _say("adding to .venv what this command needs ({})".format(layer))
            packages.install(python_of(places.live), packages.lock_file(places.clone, layer), source, places.log)
            _write_stamp(places, places.live, layer, stamp.extras)
        else:
            had = read_stamp(places.live)
            kept = had.layer if had is not None and had.layer in LAYERS else layer
            extras = [each for each in had.extras if each in EXTRAS.values()] if had is not None else []
            _rebuild(places, max(layer, kept, key=LAYERS.index), extras, source)
    except OSError as error:
        raise BootstrapError("cannot prepare {}: {}".format(places.live, error.strerror or error)) from error
    _remove(places.log)


def _rebuild(places: Places, layer: str, extras: Sequence[str], source: Source) -> None:
    try:
        os.fsencode(places.clone).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BootstrapError("the path of this clone is not UTF-8: {!r}; rename it".format(places.clone)) from error
    python = interpreters.pick(os.environ.get("PATH", os.defpath))
    _say("preparing .venv with Python {} ({}); once, about half a minute".format(python.shown_version, layer))
    _remove(places.old)
    _remove(places.building)
    try:
        _build(places, python, [layer, *extras], source)
        if os.path.lexists(places.live):
            os.rename(places.live, places.old)
        os.rename(places.building, places.live)
    finally:
        _remove(places.building)
    _remove(places.old)


def _build(places: Places, python: Interpreter, locks: Sequence[str], source: Source) -> None:
    command = [python.executable, "-I", "-m", "venv", "--without-pip", places.building]
    made = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode:
        reason = made.stdout.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no reason given"]
        raise BootstrapError("{} cannot make {}: {}".format(python.executable, places.live, reason[0]))
    site_packages = glob.glob(os.path.join(places.building, "lib", "python3.*", "site-packages"))[0]
    packages.put_pip(site_packages)
    for lock in locks:
        packages.install(python_of(places.building), packages.lock_file(places.clone, lock), source, places.log)
    # The clone is found from any working directory, without putting that directory itself on the path. Relative, since
    # Python reads these files in the locale's encoding.
    with open(os.path.join(site_packages, "syncova.pth"), "w", encoding="ascii") as stream:
        stream.write(os.path.join(*[os.pardir] * 4) + "\n")
    _name_final_place(places)
    _write_stamp(places, places.building, locks[0], locks[1:])


def _name_final_place(places: Places) -> None:
    # Scripts carry the directory they were made in; they run from the one it is renamed to.
    was, becomes = os.fsencode(places.building), os.fsencode(places.live)
    for path in [*glob.glob(os.path.join(places.building, "bin", "*")), os.path.join(places.building, "pyvenv.cfg")]:
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        with open(path, "r+b") as stream:
            content = stream.read()
            if was in content and b"\0" not in content:
                stream.seek(0)
                stream.write(content.replace(was, becomes))
                stream.truncate()


def _write_stamp(places: Places, environment: str, layer: str, extras: Sequence[str]) -> None:
    lock_sha256 = _digest_of_locks(places.clone, layer, extras)
    stamp = Stamp(places.clone, layer, lock_sha256, _fingerprint(python_of(environment)) or {}, list(extras))
    temporary = os.path.join(environment, STAMP + ".new")
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(dict(stamp._asdict(), format=FORMAT), stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    os.rename(temporary, os.path.join(environment, STAMP))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _say(text: str) -> None:
    sys.stderr.write("syncova: {}\n".format(text))
    sys.stderr.flush()
