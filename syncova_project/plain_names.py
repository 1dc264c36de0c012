"""Names that something new may get: characters that are seen, in one line and one direction.

Owns the rule. What has another name from before keeps it, and is shown escaped everywhere.
"""

from typing import Final

from syncova_project.log import single_line

NOT_PLAIN: Final = "Must be one line, without control characters and marks that turn the direction of text."


def is_plain(name: str) -> bool:
    """Tell whether a name is shown as it is, everywhere."""
    return "\t" not in name and single_line(name) == name
