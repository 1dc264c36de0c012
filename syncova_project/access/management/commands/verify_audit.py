"""`manage verify_audit`: whether the audit trail is what was sealed. Changes nothing.

Owns the arguments, the output and the exit code alone.
"""

import re
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from syncova_project.access.verifying import verify_trail

_SEAL: Final = re.compile(r"([1-9][0-9]{0,18}):([0-9a-f]{64})")
_DAMAGED: Final = 13


class Command(BaseCommand):
    """Print what is wrong and where the chain ends."""

    help = (
        "Check the audit trail against its seals: nothing changed, removed, slipped in or cut off. Exit code 13 when "
        "something is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "--seal",
            action="append",
            default=[],
            metavar="POSITION:HASH",
            help="a seal that the log told earlier and that has to be there still; repeat it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each finding."""
        verdict = verify_trail(dict(_told(text) for text in options["seal"]))
        for problem in verdict.problems:
            self.stdout.write(problem)
        if verdict.more_problems:
            self.stdout.write(f"and {verdict.more_problems} more")
        end = f", the newest {verdict.newest}" if verdict.newest else ""
        self.stdout.write(f"{verdict.seals} seals{end}; {verdict.waiting} entries wait for theirs")
        if verdict.problems:
            raise CommandError("the audit trail is not what was sealed; see docs/access.md", returncode=_DAMAGED)
        self.stdout.write("the audit trail is whole")


def _told(text: str) -> tuple[int, bytes]:
    match = _SEAL.fullmatch(text.strip())
    if match is None:
        raise CommandError(f"{text!r} is no seal: it has to be POSITION:HASH, as the log tells it", returncode=2)
    return int(match[1]), bytes.fromhex(match[2])
