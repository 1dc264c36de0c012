"""The golden repository after a rotation: two epochs, an inventory, a backup of each epoch; the same bytes in each run.

`python -m tests.engine.format.golden_rotated` writes repository_format_1_rotated.json anew. Do that only for a new
format: the stored bytes stand for repositories that people have.
"""

import json
from pathlib import Path

from repositories.engine.ids import ChunkKind
from repositories.engine.keychain import Keychain, rotate
from repositories.engine.opening import unlock
from repositories.engine.repository import WriteOptions, open_repository
from repositories.engine.storage.memory import MemoryStorage
from tests.engine.fakes import CHEAP, PASSWORD, RepeatableRandomness, StandingClock
from tests.engine.format import golden

FILE = Path(__file__).with_name("repository_format_1_rotated.json")
NEW_ROOT = b"\x93root of a later backup"
NEW_CHUNK = b"written after the rotation\n"


def build() -> dict[str, bytes]:
    """Rotate the stored golden repository and back up once more; return the objects by name."""
    storage = MemoryStorage()
    storage.objects.update(golden.load())
    randomness = RepeatableRandomness(b"rotation")
    rotate(Keychain(unlock(storage, PASSWORD, randomness), StandingClock(), randomness, CHEAP), [PASSWORD])
    repository = open_repository(storage, PASSWORD, clock=StandingClock(), randomness=RepeatableRandomness(b"after"))
    with repository.begin_write(WriteOptions(workers=1)) as session:
        session.put(ChunkKind.DATA, NEW_CHUNK)
        session.put_many(ChunkKind.DATA, golden.CHUNKS[ChunkKind.DATA])
        session.commit(NEW_ROOT, lambda: None)
    return dict(storage.objects)


def load() -> dict[str, bytes]:
    """Return the stored objects by name."""
    return {name: bytes.fromhex(digits) for name, digits in json.loads(FILE.read_text()).items()}


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: data.hex() for name, data in sorted(build().items())}, indent=0) + "\n")
