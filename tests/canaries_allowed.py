"""Where a canary may be, and why: everything else that holds one is a leak.

Owns the list. `./syncova test` tells a rule that a whole run never met, so that none outlives its reason.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """Kinds of canaries that a place may hold; `place` is searched in its name."""

    name: str
    kinds: frozenset[str]
    place: re.Pattern[str]
    why: str


def _rule(name: str, kinds: str, place: str, why: str) -> Rule:
    return Rule(name, frozenset(kinds.split()), re.compile(place), why)


SECRETS = "repository login credential token"
# A file that holds a secret and nothing else, as a program is given it.
SECRET_FILE = "a file of one secret"
RULES = (
    _rule(
        "tables",
        "hook source encoded",
        r"^file .*/servers/postgres/",
        "the log of a run and the sources of a job are rows; no secret is one, in plain or coded: `encoded` is a coded "
        "name that the compression of a row breaks off",
    ),
    _rule(
        "trees",
        "source",
        r"^file (?!.*(/logs/|\.log$|/servers/))",
        "the trees of the tests and their catalogues are called so",
    ),
    _rule(
        "what commands show",
        "source",
        r"^a child of ",
        "whoever opens a repository sees what its sources are called",
    ),
    _rule(
        "programs of passwords",
        "repository",
        r"^a child of .*test_add_change_and_remove",
        "a program that is asked for a password says it, to the product alone",
    ),
    _rule(
        "files of settings",
        "credential",
        r"^file .*/test_[^/]*/worker\.env$",
        "a worker takes its credentials from the file of settings that the test writes",
    ),
)


def rule_for(kind: str, place: str) -> Rule | None:
    """Return the rule by which a place may hold a canary of this kind."""
    return next((rule for rule in RULES if kind in rule.kinds and rule.place.search(place)), None)
