"""Changing the keys of an opened repository: passwords, recovery codes, rotation."""

from repositories.engine.keychain.keychain import Keychain, open_keychain
from repositories.engine.keychain.passwords import (
    KeyFacts,
    NewRecoveryCode,
    add_password,
    add_recovery_code,
    change_password,
    list_bad_keys,
    list_keys,
    remove_key,
    remove_recovery_codes,
)
from repositories.engine.keychain.rotation import RotationPlan, RotationResult, plan_rotation, rotate
from repositories.engine.objects.answers import may_be_done
from repositories.engine.objects.key_slots import BadSlot

__all__ = [
    "BadSlot",
    "KeyFacts",
    "Keychain",
    "NewRecoveryCode",
    "RotationPlan",
    "RotationResult",
    "add_password",
    "add_recovery_code",
    "change_password",
    "list_bad_keys",
    "list_keys",
    "may_be_done",
    "open_keychain",
    "plan_rotation",
    "remove_key",
    "remove_recovery_codes",
    "rotate",
]
