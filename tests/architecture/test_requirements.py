"""Packages: declared where they are imported, pinned with hashes, the same version in every layer."""

import ast
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions

from tests.architecture.source_files import APPS, CLONE, Module, product

LOCK_LINE = re.compile(
    r"^(#.*|--only-binary :all:||    # via .*"
    r"|    --hash=sha256:[0-9a-f]{64}( \\)?|[a-z0-9.-]+==[^\s;]+( ; [^\\]+)? \\)$"
)
# Modules that only a location of their kind loads, and the extra that it needs.
OF_EXTRAS = {
    "repositories/engine/storage/opendal_errors.py": "s3",
    "repositories/engine/storage/opendal_storage.py": "s3",
    "repositories/engine/storage/sftp.py": "sftp",
    "repositories/engine/storage/sftp_access.py": "sftp",
    "repositories/engine/storage/sftp_connection.py": "sftp",
}
OWN = {*APPS, "syncova_project", "tests", "bootstrap"}


def declared(layer: str) -> set[str]:
    """Return the packages that a layer's .in file names."""
    text = (CLONE / "requirements" / f"{layer}.in").read_text(encoding="utf-8")
    return {_canonical(name) for name in re.findall(r"^([A-Za-z0-9._-]+)", text, re.MULTILINE)}


@cache
def installed() -> Mapping[str, list[str]]:
    """Return which distributions bring a module: a look through all of them, of which one is enough."""
    return packages_distributions()


def foreign_packages(module: Module) -> set[str]:
    """Return the distributions that a module imports directly, unknown modules under their own name."""
    known = installed()
    found = set()
    for node in ast.walk(module.tree):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        tops = {name.split(".")[0] for name in names} - OWN - set(sys.stdlib_module_names)
        found |= {_canonical(known.get(top, [top])[0]) for top in tops}
    return found


def test_what_is_imported_is_declared() -> None:
    """A package that only another one brings can vanish with it."""
    base, embedded = declared("base"), declared("embedded")
    breaches = {}
    for module in product():
        allowed = base | embedded if module.path.startswith("syncova_project/embedded/") else base
        if module.path in OF_EXTRAS:
            allowed = allowed | declared(OF_EXTRAS[module.path])
        if missing := foreign_packages(module) - allowed:
            breaches[module.path] = missing
    assert breaches == {}


def test_an_undeclared_import_is_seen() -> None:
    text = "import pluggy\nfrom os import path\nfrom rest_framework.views import APIView\nimport nowhere.at_all"
    assert foreign_packages(Module("x.py", text, ast.parse(text))) == {"pluggy", "djangorestframework", "nowhere"}


def test_locks_hold_pinned_hashes_and_nothing_else() -> None:
    """A lock is requirements, hashes and comments: no index, no directory, no path."""
    for lock in sorted((CLONE / "requirements").glob("*.txt")):
        for line in lock.read_text(encoding="utf-8").splitlines():
            assert LOCK_LINE.match(line), f"{lock.name}: {line}"


def test_layers_agree_on_every_version() -> None:
    """One environment is extended from layer to layer, so no version may differ between them."""
    pins = [
        set(re.findall(r"^(\S+==\S+)", (CLONE / "requirements" / f"{layer}.txt").read_text(), re.MULTILINE))
        for layer in ("base", "embedded", "dev")
    ]
    assert pins[0] < pins[1] < pins[2]


def test_extras_fit_into_every_layer() -> None:
    """They are added to an environment of the base layer, and are part of the one that runs the tests."""
    base, *extras, dev = [
        set(re.findall(r"^(\S+==\S+)", (CLONE / "requirements" / f"{layer}.txt").read_text(), re.MULTILINE))
        for layer in ("base", "s3", "sftp", "dev")
    ]
    assert all(base < extra < dev for extra in extras)


def test_every_declared_package_is_locked() -> None:
    for layer in ("base", "embedded", "s3", "sftp", "dev"):
        lock = (CLONE / "requirements" / f"{layer}.txt").read_text()
        assert declared(layer) - set(re.findall(r"^([a-z0-9.-]+)==", lock, re.MULTILINE)) == set()


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
