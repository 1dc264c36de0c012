"""`manage prepare_installation`: what `up` needs before its processes start; safe to repeat.

Owns the order: checks, tables, user `admin`, token of `ctl`. Secrets travel in files, never in argv or output.
"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import transaction

from syncova_project import clock
from syncova_project.access.models import ApiToken
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.services import token_create, token_revoke, token_widen
from syncova_project.access.tokens import parse_token
from syncova_project.embedded import keepsakes
from syncova_project.embedded.first_start import ADMIN_PASSWORD, CTL_TOKEN

ADMIN = "admin"
TOKEN_NAME = "ctl on this machine"  # noqa: S105 - a label


class Command(BaseCommand):
    """Check the settings, migrate, and make what the first start makes."""

    help = "Prepare the database for `up`: tables, user admin, the token of ctl. Safe to repeat."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare where the secrets lie."""
        parser.add_argument("--secrets", type=Path, required=True, help="directory with the file admin_password")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the steps in order."""
        call_command("check", deploy=True, fail_level="ERROR", stdout=self.stdout, stderr=self.stderr)
        call_command("migrate", interactive=False, verbosity=1, stdout=self.stdout)
        secrets: Path = options["secrets"]
        with transaction.atomic():
            _make_admin(keepsakes.read(secrets / ADMIN_PASSWORD) or "")
        _make_token(secrets / CTL_TOKEN)


def _make_admin(password: str) -> None:
    users = get_user_model().objects
    if not users.filter(is_superuser=True).exists():
        users.create_superuser(username=ADMIN, password=password)


def _make_token(path: Path) -> None:
    kept = keepsakes.read(path)
    token = None if kept is None else parse_token(kept)
    if token is not None:
        row = ApiToken.objects.filter(prefix=token.prefix, revoked_at=None).first()
        if row is not None and token.matches(bytes(row.digest)):
            # Made before there was one of the rights: `ctl` may do what this version can.
            if set(row.scopes) != set(ALL_SCOPES):
                token_widen(token=row, scopes=ALL_SCOPES, now=clock.now())
            return
    now = clock.now()
    with transaction.atomic():
        for stale in ApiToken.objects.filter(name=TOKEN_NAME, revoked_at=None):
            token_revoke(prefix=stale.prefix, actor="system", now=now)
        _row, text = token_create(name=TOKEN_NAME, scopes=sorted(ALL_SCOPES), now=now)
        keepsakes.write(path, text)
