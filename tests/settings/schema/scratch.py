"""A database of a test's own, beside the session's: migrated by real processes that a test may kill.

Owns making and dropping it, and the small app `steps` whose migrations do what the test wants.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg2

from tests.private_servers import TestDatabase

PROJECT = Path(__file__).resolve().parents[3]
_SETTINGS = """
from syncova_project.settings import *
INSTALLED_APPS = ["django.contrib.contenttypes", "syncova_project", "steps"]
ROOT_URLCONF = "steps"
"""
# Several commands in one process, since starting one takes longer than what it does; each ends with its exit code.
_ENTRY = """
import json, sys
from django.core.management import execute_from_command_line
from syncova_project.schema import versions
versions.STEPS = ("contenttypes.0001_initial", "contenttypes.0002_remove_content_type_name", {steps})
for words in json.loads(sys.argv[1]):
    code = 0
    try:
        execute_from_command_line(["manage.py", *words])
    except SystemExit as left:
        code = left.code
    except Exception as error:
        print(error)
        code = 99
    sys.stderr.flush()
    print(f"[exit {{code}}]", flush=True)
"""
_END = re.compile(r"\[exit (\d+)\]\n")
_MIGRATION = """
from django.db import migrations
class Migration(migrations.Migration):
    atomic = {atomic}
    dependencies = [{dependencies}]
    operations = [{operations}]
"""


@dataclass(frozen=True)
class Scratch:
    """One database, and a directory with the app's migrations."""

    directory: Path
    url: str

    def migration(self, name: str, *statements: str, after: str = "", atomic: bool = True) -> None:
        """Write one migration of `steps`, each statement an operation."""
        operations = ", ".join(f"migrations.RunSQL({statement!r})" for statement in statements)
        dependencies = f'("steps", "{after}")' if after else ""
        text = _MIGRATION.format(atomic=atomic, dependencies=dependencies, operations=operations)
        (self.directory / "steps" / "migrations" / f"{name}.py").write_text(text)

    def start(self, *commands: tuple[str, ...], steps: tuple[str, ...], **variables: str) -> "subprocess.Popen[str]":
        """Start `manage` for a program that knows `steps`, with one command after the other."""
        entry = _ENTRY.format(steps="".join(f'"steps.{step}", ' for step in steps))
        return subprocess.Popen(
            [sys.executable, "-c", entry, json.dumps(commands)],
            cwd=self.directory,
            env={**os.environ, **self._variables(), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *commands: tuple[str, ...], steps: tuple[str, ...], **variables: str) -> list[tuple[int, str]]:
        """Run commands to their ends; return exit code and output of each."""
        return told(self.start(*commands, steps=steps, **variables))

    def query(self, statement: str) -> list[Any]:
        """Return the rows of a statement."""
        with contextlib.closing(psycopg2.connect(self.url)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []

    def _variables(self) -> Mapping[str, str]:
        return {
            "PYTHONPATH": f"{PROJECT}:{self.directory}",
            "DJANGO_SETTINGS_MODULE": "scratch_settings",
            "SYNCOVA_DATABASE_URL": self.url,
        }


def told(child: "subprocess.Popen[str]") -> list[tuple[int, str]]:
    """Return exit code and output of each command that a process did."""
    output, _ = child.communicate(timeout=60)
    parts = _END.split(output)
    return [(int(code), text) for text, code in zip(parts[::2], parts[1::2], strict=False)]


@contextlib.contextmanager
def scratch_database(directory: Path, server: TestDatabase) -> Iterator[Scratch]:
    """Make the database and the directory; drop it in the end, whoever is still connected."""
    name, base = f"scratch_{uuid.uuid4().hex[:12]}", urlsplit(server.test_url)
    scratch = Scratch(directory, base._replace(path=f"/{name}").geturl())
    package = directory / "steps" / "migrations"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (directory / "steps" / "__init__.py").write_text("urlpatterns = []\n")
    (directory / "scratch_settings.py").write_text(_SETTINGS)
    with contextlib.closing(psycopg2.connect(server.test_url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
            try:
                yield scratch
            finally:
                cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
