"""`manage token_revoke`: end an API token for good."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from syncova_project import clock
from syncova_project.access.services import TokenNotFoundError, token_revoke


class Command(BaseCommand):
    """Revokes the token with the given public prefix."""

    help = "Revoke an API token by its prefix, the twelve characters after syncova_."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("prefix")

    def handle(self, *args: Any, **options: Any) -> None:
        """Revoke it; repeating that changes nothing."""
        try:
            token = token_revoke(prefix=options["prefix"], actor="system", now=clock.now())
        except TokenNotFoundError as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        self.stdout.write(f"Token {token.prefix} of {token.name!r} is revoked.")
