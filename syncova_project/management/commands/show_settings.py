"""`manage show_settings`: every setting's value and origin, secrets masked; also the page docs/settings.md."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from syncova_project import env, log, setting_docs
from syncova_project.setting_table import TABLE, Setting

MASK = "********"


class Command(BaseCommand):
    """Print what is set and where it comes from; needs no server."""

    help = "Print every setting with its value and origin; secrets are masked."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the two other forms of output."""
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print one JSON object")
        form.add_argument("--markdown", action="store_true", help="print the page docs/settings.md")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print in the wanted form."""
        if options["markdown"]:
            self.stdout.write(setting_docs.render(), ending="")
            return
        environment = env.load()
        rows = [_row(setting, environment) for setting in TABLE]
        if options["json"]:
            self.stdout.write(json.dumps({"settings": rows}, indent=2))
            return
        width = max(len(setting.name) for setting in TABLE)
        for row in rows:
            value = "-" if row["value"] is None else log.single_line(str(row["value"]))
            self.stdout.write(f"{row['name']:<{width}}  {value}  ({row['origin']})")


def _row(setting: Setting, environment: env.Environment) -> dict[str, str | None]:
    found = environment.find(setting.name)
    if found is None and setting.name == "SYNCOVA_DATA_DIR":
        found = env.Found(str(env.data_directory(environment)), "default")
    if found is None:
        return {"name": setting.name, "value": None, "origin": "not set"}
    return {"name": setting.name, "value": MASK if setting.secret else found.value, "origin": found.origin}
