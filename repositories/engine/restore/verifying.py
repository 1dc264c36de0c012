"""Reads restored files back and compares them with the backup, by chunk ids.

Owns the comparison only; it writes nothing.
"""

from collections.abc import Iterable

from repositories.engine.errors import IntegrityError, ObjectMissingError
from repositories.engine.manifest.entries import Entry, EntryType
from repositories.engine.manifest.order import join
from repositories.engine.restore.chunks import AnyChunks
from repositories.engine.restore.existing import same_content
from repositories.engine.restore.hashing import ChunkHash
from repositories.engine.restore.left_out import LeftOut
from repositories.engine.restore.pulse import RestorePulse
from repositories.engine.restore.selection import Selected
from repositories.engine.restore.tally import Tally
from repositories.engine.restore.target import TargetTree


def verify(
    tree: TargetTree,
    selection: Iterable[Selected],
    against: tuple[AnyChunks, ChunkHash],
    left_out: LeftOut,
    tally: Tally,
    pulse: RestorePulse,
) -> None:
    """Compare each file that should be there now; what differs in the target is counted as failed.

    What its own mode closes to us (an ordinary user) is one counted warning.
    """
    for selected in selection:
        try:
            tree.go(selected.directory)
        except PermissionError:
            for entry, _ in selected.entries:
                if entry.type == EntryType.FILE:
                    tally.unverified()
            continue
        except OSError as error:
            left_out.gone(selected.directory, error)
            continue
        for entry, _ in selected.entries:
            path = join(selected.directory, entry.name)
            pulse.entry(path)
            if entry.type == EntryType.FILE and tally.is_intact(path):
                _verify_file(tree.descriptor, path, entry, against, tally)


def _verify_file(directory: int, path: bytes, entry: Entry, against: tuple[AnyChunks, ChunkHash], tally: Tally) -> None:
    source, chunk_hash = against
    try:
        same = same_content(source, chunk_hash, directory, entry)
    except (IntegrityError, ObjectMissingError):
        tally.damaged(path)
        return
    except PermissionError:
        tally.unverified()
        return
    except OSError as error:
        tally.failed(path, error)
        return
    if same:
        tally.verified()
    else:
        tally.failed(path, OSError("what is in the target differs from the backup"))
