"""LOCATION followed by any number of ids. Owns their parting alone."""

from collections.abc import Sequence

from repositories.console.options import RepositoryOptions
from repositories.console.repository_access import split_location


def split_ids(words: Sequence[str], options: RepositoryOptions) -> tuple[str, list[str]]:
    """Return the location and the ids behind it.

    With -r all words are ids; with SYNCOVA_REPOSITORY too, unless the first cannot be one: no id holds a slash.
    """
    located = bool(words) and "/" in words[0] and options.repository is None
    return split_location(words, options, most=0 if located else len(words))
