"""`manage migrate`, run as the role that owns the tables: the application's own role may not change them."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections

from syncova_project.connection_urls import database_settings

STATUS = "status"


class Command(migrate.Command):
    """Django's command on SYNCOVA_MIGRATION_DATABASE_URL when that is set; `migrate status` only lists."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        """Switch the connection for the time of the migration, then back."""
        if options["app_label"] == STATUS:
            # Reading needs no right to change tables; applied ones are marked [X].
            call_command("showmigrations", database=options["database"], stdout=self.stdout, stderr=self.stderr)
            return None
        url = settings.SYNCOVA_MIGRATION_DATABASE_URL
        if url is None or options["database"] != DEFAULT_DB_ALIAS:
            return super().handle(*args, **options)
        connection = connections[DEFAULT_DB_ALIAS]
        before = dict(connection.settings_dict)
        connection.close()
        connection.settings_dict.update(database_settings(url))
        try:
            return super().handle(*args, **options)
        finally:
            connection.close()
            connection.settings_dict.update(before)
