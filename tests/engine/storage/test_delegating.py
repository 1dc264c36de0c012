"""What wrappers around a storage share: nothing that a medium answers itself stays behind in them."""

from collections.abc import Iterable

from repositories.engine.prune.reserve import ReservedStorage
from repositories.engine.storage.base import ObjectRange, Storage
from repositories.engine.storage.delegating import DelegatingStorage
from repositories.engine.storage.memory import MemoryStorage

BUILT_OF_OTHERS = {"sizes", "list_all", "move"}


class FarAway(MemoryStorage):
    """Says of itself what no medium near by does; notes what is announced."""

    def __init__(self) -> None:
        super().__init__()
        self.announced: list[ObjectRange] = []

    @property
    def place(self) -> str:
        return "s3://far/away"

    @property
    def refuses_existing(self) -> bool:
        return False

    @property
    def puts_at_once(self) -> int:
        return 4

    @property
    def reads_at_once(self) -> int:
        return 8

    def will_read(self, ranges: Iterable[ObjectRange]) -> None:
        self.announced += ranges

    def give_up_reading(self) -> None:
        self.announced.clear()

    def listing_delay(self) -> float:
        return 2.5

    def free_space(self) -> int | None:
        return 12_345

    def scratch_directory(self) -> str | None:
        return "/nowhere"


def test_every_request_of_the_interface_is_passed_on_but_those_that_are_built_of_others() -> None:
    """A request that the interface gets later is passed on here, too."""
    interface = {name for name in vars(Storage) if not name.startswith("_")}
    assert interface - vars(DelegatingStorage).keys() == BUILT_OF_OTHERS


def test_a_prune_knows_of_a_medium_far_away_what_it_says_of_itself() -> None:
    """4.7: with the reserve around it, S3 was taken for a medium on which one pack is put at a time."""
    far = FarAway()
    wrapped = ReservedStorage(far)
    assert (wrapped.place, wrapped.refuses_existing) == ("s3://far/away", False)
    assert (wrapped.puts_at_once, wrapped.reads_at_once) == (4, 8)
    assert (wrapped.listing_delay(), wrapped.free_space(), wrapped.scratch_directory()) == (2.5, 12_345, "/nowhere")
    wrapped.will_read([ObjectRange("packs/aa/one", 0, 5)])
    assert far.announced == [ObjectRange("packs/aa/one", 0, 5)]
    wrapped.give_up_reading()
    assert far.announced == []
