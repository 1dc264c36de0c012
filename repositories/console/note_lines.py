"""Words for notes: what a backup did not hold because it was not meant to, or was gone; one counted line per class.

Owns the words alone. Which problem is a note is the engine's to say.
"""

from collections.abc import Mapping

from repositories.engine.display import show_text

_WORDS = {
    "excluded": "left out by exclude rules",
    "cache_directory": "directories tagged as caches, left out but for their tags",
    "vanished": "vanished before they could be read",
    "socket": "sockets, which hold no data",
    "other_file_system": "other file systems, not entered",
    "pseudo_file_system": "file systems that the kernel makes up, left out",
    "own_data": "the repository and Syncova's own data, left out",
}


def note_lines(counts: Mapping[str, int]) -> list[str]:
    """Return a line for each class of notes, the most frequent first; a class without words is told by its name."""
    by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [f"{_WORDS.get(kind) or show_text(kind.replace('_', ' '))}: {count:,}" for kind, count in by_count]
