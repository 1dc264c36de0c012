"""`manage token_create`: make an API token and show it once, or write it into a file that only its owner reads."""

import os
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from syncova_project import clock
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.services import token_create
from syncova_project.errors import SyncovaError
from syncova_project.log import single_line
from syncova_project.plain_names import NOT_PLAIN, is_plain


class Command(BaseCommand):
    """Prints the token, or with --file only the file's name."""

    help = "Make an API token. It is shown once, or written into a new file of mode 0600."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("name", help="what the audit trail calls the token's holder")
        parser.add_argument(
            "--scope", action="append", default=[], choices=ALL_SCOPES, help="a right; repeat it. None: all rights"
        )
        parser.add_argument(
            "--worker-group",
            action="append",
            default=None,
            help="see repositories of this worker group alone; repeat it. None: all groups",
        )
        parser.add_argument("--file", type=Path, help="write the token there instead of printing it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the token; a file that exists already is never overwritten."""
        file: Path | None = options["file"]
        if not is_plain(options["name"]):
            raise CommandError(f"The name {single_line(options['name'])!r} is not acceptable. {NOT_PLAIN}")
        # Opened before there is a token, which nobody would know of otherwise.
        stream = None if file is None else _opened(file)
        try:
            token, plain = token_create(
                name=options["name"],
                scopes=options["scope"] or list(ALL_SCOPES),
                worker_groups=options["worker_group"],
                now=clock.now(),
            )
        except SyncovaError as error:
            if file is not None and stream is not None:
                stream.close()
                file.unlink()
            raise CommandError(f"{error.message} {error.hint}") from error
        if file is None or stream is None:
            self.stdout.write(plain)
            return
        try:
            _write(stream, plain + "\n")
        except OSError as error:
            raise CommandError(
                f"{file} was not written ({error.strerror}). Revoke the lost token: manage token_revoke {token.prefix}"
            ) from error
        self.stdout.write(f"Token {token.prefix} of {token.name!r} is in {file}.")


def _opened(file: Path) -> TextIO:
    """Make a new file that only its owner reads; one that exists is never overwritten, a link never followed."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CommandError(f"{file} cannot be made: {error.strerror}. No token was made.") from error
    return os.fdopen(descriptor, "w", encoding="utf-8")


def _write(stream: TextIO, text: str) -> None:
    with stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
