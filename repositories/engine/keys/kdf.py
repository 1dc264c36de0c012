"""The password hash of slots: Argon2id with bounded parameters.

Owns cost parameters and their limits: a hostile slot must not make us allocate or compute without bound.
"""

import msgspec
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from repositories.engine import limits
from repositories.engine.errors import IntegrityError

ROOT_LENGTH = 32
SALT_LENGTH = 16


class KdfParameters(msgspec.Struct, frozen=True):
    """Costs of Argon2id: memory in KiB, passes, lanes."""

    memory_kib: int = 64 * 1024
    iterations: int = 3
    lanes: int = 4

    def check(self) -> None:
        """Raise IntegrityError for costs outside the pinned limits."""
        if (
            8 * self.lanes <= self.memory_kib <= limits.MAX_ARGON2_KIB
            and 1 <= self.iterations <= limits.MAX_ARGON2_ITERATIONS
            and 1 <= self.lanes <= limits.MAX_ARGON2_LANES
        ):
            return
        raise IntegrityError(
            f"a key slot asks for {self.memory_kib} KiB, {self.iterations} passes, {self.lanes} lanes: out of bounds",
            hint="the slot was not made by Syncova; use another password or the recovery code",
        )


def derive_root(secret: bytes, salt: bytes, parameters: KdfParameters) -> bytes:
    """Return the 32-byte root of a slot's keys. Takes about 0.2 s and 64 MiB with the default costs."""
    parameters.check()
    return Argon2id(
        salt=salt,
        length=ROOT_LENGTH,
        iterations=parameters.iterations,
        lanes=parameters.lanes,
        memory_cost=parameters.memory_kib,
    ).derive(secret)
