"""The vault: sealed values open with any present key, on their own row alone, and never half (A5)."""

import secrets
import uuid
from typing import Any

import pytest

from repositories.vault import SecretUnreadableError, password_context, seal, unseal
from syncova_project.errors import ConfigurationError

CONTEXT = password_context(uuid.UUID(int=1))


@pytest.mark.parametrize("plain", [b"", b"secret", "pässwörd\x00".encode(), secrets.token_bytes(4096)])
def test_what_is_sealed_opens(plain: bytes) -> None:
    sealed = seal(plain, CONTEXT)
    assert unseal(sealed, CONTEXT) == plain
    assert plain == b"" or plain not in sealed


def test_sealing_twice_gives_two_values() -> None:
    assert seal(b"secret", CONTEXT) != seal(b"secret", CONTEXT)


def test_a_value_does_not_open_on_another_row() -> None:
    with pytest.raises(SecretUnreadableError):
        unseal(seal(b"secret", CONTEXT), password_context(uuid.UUID(int=2)))


def test_every_changed_byte_is_noticed() -> None:
    sealed = seal(b"secret", CONTEXT)
    for position in range(len(sealed)):
        changed = bytearray(sealed)
        changed[position] ^= 1
        with pytest.raises(SecretUnreadableError) as caught:
            unseal(bytes(changed), CONTEXT)
        assert "secret" not in caught.value.message.replace("A sealed secret", "").replace("SECRET_KEYS", "")


def test_the_first_key_seals_and_all_open(settings: Any) -> None:
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    settings.SYNCOVA_SECRET_KEYS = [old]
    by_old = seal(b"secret", CONTEXT)
    settings.SYNCOVA_SECRET_KEYS = [new, old]
    assert unseal(by_old, CONTEXT) == b"secret"
    by_new = seal(b"secret", CONTEXT)
    settings.SYNCOVA_SECRET_KEYS = [new]
    assert unseal(by_new, CONTEXT) == b"secret"
    with pytest.raises(SecretUnreadableError):
        unseal(by_old, CONTEXT)


def test_without_keys_nothing_is_sealed(settings: Any) -> None:
    settings.SYNCOVA_SECRET_KEYS = []
    with pytest.raises(ConfigurationError):
        seal(b"secret", CONTEXT)


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x02" + bytes(40), bytes(33)])
def test_what_the_vault_did_not_seal_is_refused(sealed: bytes) -> None:
    with pytest.raises(SecretUnreadableError):
        unseal(sealed, CONTEXT)
