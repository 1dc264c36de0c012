"""A small clone to try the bootstrap in: the real script, locks of tiny packages, programs that tell how they were run.

Owns how such a clone is made; each test changes its own.
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent.parent
LAYERS = {"base": ("trial-base",), "embedded": ("trial-base", "trial-embedded")}
LAYERS["dev"] = (*LAYERS["embedded"], "trial-dev")
TOLD = """
import json, os, sys
from importlib.metadata import distributions
print(json.dumps({
    "executable": sys.executable, "argv": sys.argv[1:], "path": sys.path, "cwd": os.getcwd(),
    "environment": dict(os.environ), "packages": sorted(each.name for each in distributions()),
}))
"""


@dataclass(frozen=True, slots=True)
class Person:
    """Who runs the script; without ids, whoever runs the tests."""

    uid: int | None = None
    gid: int | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One clone and the wheels that its locks name."""

    clone: Path
    wheels: Path
    person: Person = field(default_factory=Person)

    def command(self, *arguments: str) -> list[str]:
        """Return the command line that starts the script."""
        return [str(self.clone / "syncova"), *arguments]

    def run(self, *arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script to its end with these variables on top of a bare environment."""
        return subprocess.run(
            self.command(*arguments),
            cwd=cwd or self.clone,
            env=environment(self.wheels, self.clone, variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            user=self.person.uid,
            group=self.person.gid,
            extra_groups=None if self.person.uid is None else (),
        )

    def told(self, *arguments: str, cwd: Path | None = None, **variables: str) -> dict[str, Any]:
        """Run the script and return what the program it became told."""
        done = self.run(*arguments, cwd=cwd, **variables)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    @property
    def stamp(self) -> dict[str, Any]:
        """Return the stamp of the environment."""
        content: dict[str, Any] = json.loads((self.clone / ".venv" / "syncova-stamp.json").read_text())
        return content


def environment(wheels: Path, home: Path, more: Mapping[str, str] = {}) -> dict[str, str]:
    """Return variables with which pip finds the tiny wheels and nothing else."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.base_prefix, "bin")), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(home),
        "TMPDIR": str(wheels.parent),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_CACHE_DIR": "1",
        **more,
    }


def make(directory: Path, person: Person = Person()) -> Trial:
    """Make a clone with its wheels below a directory."""
    clone, wheels = directory / "clone", directory / "wheels"
    wheels.mkdir()
    shutil.copytree(SOURCE / "bootstrap", clone / "bootstrap", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("syncova", "pyproject.toml"):
        shutil.copy2(SOURCE / name, clone / name)
    for program in ("manage.py", "syncova_project/embedded/__main__.py", "tests/benchmarks/__main__.py"):
        (clone / program).parent.mkdir(parents=True, exist_ok=True)
        (clone / program).write_text(TOLD)
    for name in LAYERS["dev"]:
        make_wheel(wheels, name, "1.0")
    (clone / "requirements").mkdir()
    for layer, names in LAYERS.items():
        write_lock(clone, wheels, layer, names)
    return Trial(clone, wheels, person)


def make_wheel(wheels: Path, name: str, version: str) -> Path:
    """Write a wheel with one module."""
    package = name.replace("-", "_")
    info = f"{package}-{version}.dist-info"
    content = {
        f"{package}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: trial\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {package}:main\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    path = wheels / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in content.items():
            archive.writestr(zipfile.ZipInfo(inside, (2026, 1, 1, 0, 0, 0)), text)
    return path


def write_lock(clone: Path, wheels: Path, layer: str, names: Sequence[str], version: str = "1.0") -> None:
    """Pin packages of this version, as they lie in the wheels directory now."""
    lines = []
    for name in names:
        wheel = wheels / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        lines.append(f"{name}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    (clone / "requirements" / f"{layer}.txt").write_text("".join(lines))


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
