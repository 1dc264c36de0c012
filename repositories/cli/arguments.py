"""The arguments that the verbs of syncova-repo share. Owns their joining only."""

from dataclasses import dataclass
from typing import Annotated

from repositories.console.failures import CommandError
from repositories.console.options import Argument, LongOptions, RepositoryOptions

LOCATION_RULE = "Leave LOCATION out with -r or SYNCOVA_REPOSITORY."


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationOptions(RepositoryOptions):
    """A verb that takes LOCATION and nothing else."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION]", hidden=True)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LongLocationOptions(LongOptions):
    """A verb that takes LOCATION and works for a while."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION]", hidden=True)] = ()


def expect(words: list[str], names: tuple[str, ...], *, optional: int = 0) -> list[str]:
    """Return exactly the arguments `names` from `words`; the last `optional` ones are "" when left out."""
    if len(words) > len(names):
        raise CommandError(
            f"there is one argument too many: {words[len(names)]}", hint="leave it out, or quote what has blanks"
        )
    if len(words) < len(names) - optional:
        raise CommandError(f"{names[len(words)]} is missing", hint="the command's --help has examples")
    return words + [""] * (len(names) - len(words))
