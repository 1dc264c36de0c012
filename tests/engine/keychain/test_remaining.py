"""How much is left under older keys, by what counts now (3.5)."""

from repositories.engine.keychain import rotate
from repositories.engine.keychain.remaining import Remaining, sealed_before
from repositories.engine.repository import open_repository
from tests.engine.awaking import Awaking, prepare_sweep, put_loose
from tests.engine.keychain.chains import keychain
from tests.engine.repositories import PASSWORD, make_repository


def remaining(storage: Awaking) -> Remaining:
    opened = open_repository(storage, PASSWORD)
    return sealed_before(opened.store, opened.catalogue)


def test_what_a_sweep_makes_void_while_the_index_is_listed_is_nothing_that_remains() -> None:
    storage = Awaking()
    void = put_loose(make_repository(storage))
    assert remaining(storage) == Remaining(), "before a rotation there is nothing to count"
    rotate(keychain(storage, PASSWORD), [PASSWORD])
    assert remaining(storage).packs == 1
    prepare_sweep(storage, open_repository(storage, PASSWORD).store, 1, void)
    assert remaining(storage) == Remaining()
    assert storage.awoke
