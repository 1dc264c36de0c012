"""Places of a repository while a prune that slept goes on: what it makes void is of no use to anybody (3.8)."""

from repositories.engine.overview.places import places_of
from repositories.engine.repository import open_repository
from tests.engine.awaking import Awaking, prepare_sweep, put_loose
from tests.engine.contents import commit
from tests.engine.repositories import PASSWORD, make_repository


def test_what_a_sweep_makes_void_while_the_index_is_listed_is_no_place() -> None:
    storage = Awaking()
    repository = make_repository(storage)
    commit(repository, 1)
    kept = {pack.pack_id for pack in places_of(repository).packs}
    void = put_loose(repository)
    assert {pack.pack_id for pack in places_of(repository).packs} > kept
    prepare_sweep(storage, repository.store, 1, void)
    index = places_of(open_repository(storage, PASSWORD))
    assert storage.awoke
    assert {pack.pack_id for pack in index.packs} == kept
