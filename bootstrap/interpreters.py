"""Finds the Python to build with. Owns the supported versions and platforms; it runs candidates but changes nothing."""

import json
import os
import re
import subprocess
import sys
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from bootstrap.failures import BootstrapError

OLDEST = (3, 11)
NEWEST = (3, 14)  # the last version that every pinned package has a wheel for
PROBE_SECONDS = 5
PLATFORMS = "Linux with glibc 2.28 or newer on x86-64 and arm64, macOS on arm64"
PACKAGES_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python-packages.txt")
_NAME = re.compile(r"^python(3(\.\d+)?)?$")
_PROBE = """
import json, os, platform, struct, sys, sysconfig
try:
    libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
except (AttributeError, ValueError, OSError):
    libc = ""
print(json.dumps({
    "executable": os.path.realpath(sys.executable), "version": list(sys.version_info[:3]), "system": sys.platform,
    "machine": platform.machine(), "bits": struct.calcsize("P") * 8, "libc": libc,
    "implementation": platform.python_implementation(), "gil": not sysconfig.get_config_var("Py_GIL_DISABLED"),
}))
"""


class Interpreter(NamedTuple):
    """A Python that ran and said what it is."""

    executable: str
    version: Tuple[int, int, int]
    system: str
    machine: str
    bits: int
    libc: str
    implementation: str
    gil: bool

    @property
    def shown_version(self) -> str:
        """Return the version as people write it."""
        return ".".join(str(part) for part in self.version)


def pick(search_path: str) -> Interpreter:
    """Return the newest supported Python in these directories; BootstrapError names what is missing otherwise."""
    found = [answer for answer in map(probe, candidates(search_path)) if answer is not None]
    usable = [each for each in found if not refusal(each)]
    if usable:
        return max(usable, key=lambda each: each.version)
    raise BootstrapError(_why_none(found))


def candidates(search_path: str) -> List[str]:
    """Return the programs named like a Python in the order of the path, each once; relative entries are left out."""
    seen: Dict[str, str] = {}
    for directory in search_path.split(os.pathsep):
        if not os.path.isabs(directory):
            continue
        for name in sorted(_entries(directory), reverse=True):
            program = os.path.join(directory, name)
            if _NAME.match(name) and os.access(program, os.X_OK):
                seen.setdefault(_identity(program, name), program)
    return list(seen.values())


def probe(program: str) -> Optional[Interpreter]:
    """Run the program and return what it is, or None if it fails, waits or says something else."""
    # Isolated and without site: nothing of the caller's environment may run or change the answer.
    command = [program, "-I", "-S", "-c", _PROBE]
    try:
        output = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PROBE_SECONDS,
            check=True,
        ).stdout
        answer = json.loads(output.decode("utf-8"))
        answer["version"] = tuple(answer["version"])
        return Interpreter(**answer)
    except (OSError, subprocess.SubprocessError, ValueError, TypeError, KeyError):
        return None


def refusal(python: Interpreter) -> str:
    """Return why Syncova does not run on this Python, or an empty string."""
    if not OLDEST <= python.version[:2] <= NEWEST:
        return "Python {} is not 3.{} to 3.{}".format(python.shown_version, OLDEST[1], NEWEST[1])
    if python.implementation != "CPython" or not python.gil:
        return "it is not the usual CPython"
    return _platform_refusal(python)


def _platform_refusal(python: Interpreter) -> str:
    if python.bits == 64 and (python.system, python.machine) == ("darwin", "arm64"):
        return ""
    known = python.bits == 64 and python.system == "linux" and python.machine in ("x86_64", "aarch64")
    if not known:
        return "this is {} on {}, {} bits".format(python.system, python.machine, python.bits)
    libc = re.match(r"^glibc (\d+)\.(\d+)", python.libc)
    if libc is None:
        return "this Linux has another C library than glibc"
    if (int(libc.group(1)), int(libc.group(2))) < (2, 28):
        return "this Linux has {}".format(python.libc)
    return ""


def _why_none(found: Iterable[Interpreter]) -> str:
    newest = max(found, key=lambda each: each.version, default=None)
    if newest is not None and _platform_refusal(newest):
        return "unsupported platform: {}; Syncova runs on {}".format(_platform_refusal(newest), PLATFORMS)
    wanted = "needs Python 3.{} to 3.{}".format(OLDEST[1], NEWEST[1])
    seen = "none runs on PATH" if newest is None else "found {} ({})".format(newest.shown_version, newest.executable)
    line = install_line(_read("/etc/os-release"), sys.platform)
    return "{}; {}; install one{}".format(wanted, seen, ", for example: " + line if line else "")


def install_line(os_release: str, system: str) -> str:
    """Return the line that installs a fitting Python on this system, or an empty string when it is not known."""
    fields = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', os_release, re.MULTILINE))
    name = "darwin" if system == "darwin" else fields.get("ID", "")
    names = ["{}:{}".format(name, fields.get("VERSION_ID", "")), name]
    table = dict(line.split(" ", 1) for line in _read(PACKAGES_FILE).splitlines() if line and not line.startswith("#"))
    for each in names + fields.get("ID_LIKE", "").split():
        if each in table:
            return table[each]
    return ""


def _entries(directory: str) -> List[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _identity(program: str, name: str) -> str:
    # A shim is one file under many names and acts by its name, so the name counts too.
    return "{} {}".format(os.path.realpath(program), name)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
