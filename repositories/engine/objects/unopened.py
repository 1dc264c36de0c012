"""Why a repository does not open, in words for people. Owns the words, and shows nothing of any secret."""

from repositories.engine.errors import KeyringLostError
from repositories.engine.format.kinds import ObjectKind, generation_group, newest_generation
from repositories.engine.keys.recovery import mistake_in_code, parse_recovery_code
from repositories.engine.keys.slots import Slot, SlotRole
from repositories.engine.objects.pairs import list_names
from repositories.engine.storage.base import Storage

FROM_A_COPY = "bring it back from a copy of the repository, but no older key slots: those let ended passwords in"


def require_no_later(storage: Storage, generation: int) -> None:
    """Raise KeyringLostError if there are slots of a later generation than `generation`, which has none.

    A rotation was done then, and its keyring is lost. Beside slots of this one they are of one that was broken off.
    """
    newest = newest_generation(list(list_names(storage, ObjectKind.SLOT)))
    if newest > generation:
        where = place_of(storage, f"keyrings/{generation_group(newest)}")
        raise KeyringLostError(
            f"the keyring of generation {newest} is missing in {where}, while its key slots are there",
            hint=FROM_A_COPY,
        )


def wrong_key_hint(slots: list[Slot], damaged: int, secret: bytes) -> str:
    """Say what to do about a secret that opens nothing, without showing anything of it."""
    mistake = mistake_in_code(secret)
    if mistake:
        return f"if it is the recovery code, compare it with the paper: {mistake}"
    if damaged:
        return f"{damaged} key slots are damaged: use another password or the recovery code"
    if parse_recovery_code(secret) is None:
        return "check the password, or use the recovery code"
    if any(slot.facts.role == SlotRole.RECOVERY_CODE for slot in slots):
        return "the code is typed as it was shown, but it is of another repository, or a newer code has replaced it"
    return "the code is typed as it was shown, but no recovery code opens this repository any more: use a password"


def place_of(storage: Storage, name: str) -> str:
    """Return where an object of this name lies, as people are told."""
    return storage.shown(name)
