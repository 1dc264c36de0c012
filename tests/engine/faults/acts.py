"""The operations of the matrix of faults.

Owns how each is run, what may be listed after it broke off, and how it is run once more. What must hold after any of
them is in matrix.py.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from repositories.engine.backup import Hooks
from repositories.engine.check import CheckRequest, check
from repositories.engine.copying import CopyRequest, copy_backups
from repositories.engine.errors import BackupUnreadableError, IntegrityError
from repositories.engine.forgetting import ForgetRequest, forget, plan
from repositories.engine.keychain import rotate
from repositories.engine.prune import PruneRequest, prune
from repositories.engine.repair import RepairRequest, repair
from repositories.engine.repository import Repository, open_repository
from repositories.engine.storage.base import Storage
from repositories.engine.storage.faults import Fault
from tests.engine.backup.interruptions import often
from tests.engine.copying.builders import OTHER_PASSWORD
from tests.engine.faults.oracle import PACK_TARGET, never
from tests.engine.keychain.chains import OTHER, keychain, opens
from tests.engine.repositories import PASSWORD

if TYPE_CHECKING:
    from tests.engine.faults.matrix import Case
    from tests.engine.faults.stage import Objects, Stage


class Act:
    """An operation. `run` returns what it tells at its end; `judge` requires the listing that it may leave."""

    name = ""
    secrets: ClassVar[Sequence[bytes]] = (PASSWORD,)
    hinders_prunes: ClassVar[tuple[type[BaseException], ...]] = ()

    def media(self, stage: "Stage") -> "list[Objects]":
        """Return the media that it begins with; the backups of the stage are on the first."""
        return [stage.objects]

    def run(self, case: "Case") -> Any:
        """Run it on the media that break."""
        raise NotImplementedError

    def judge(self, case: "Case") -> None:
        """Require that everything is listed as before."""
        case.oracles[0].require_listed()

    def again(self, case: "Case") -> None:
        """Run it once more, on whole media, and require that it comes to its end."""

    def is_first_again(self, case: "Case") -> bool:
        """Tell whether it must be run again before a prune can be."""
        return False


class Backup(Act):
    """A backup with a checkpoint behind each file. The next one is a part of what must hold in any case."""

    name = "backup"

    def run(self, case: "Case") -> Any:
        return often(opened(case.faulty()), case.stage.tree)

    def judge(self, case: "Case") -> None:
        (oracle,) = case.oracles
        # After a write that failed nothing stays visible, as long as the medium takes deletions.
        oracle.require_listed(perhaps_new=None if case.way.fault is Fault.FULL and case.error else case.stage.facts)
        assert case.told is None or case.told.backup_id in oracle.kept, "a backup that was told is not there"


class Prune(Act):
    """A prune that deletes and repacks."""

    name = "prune"

    def run(self, case: "Case") -> Any:
        request = PruneRequest(max_unused=0.0, pack_target=PACK_TARGET)
        return prune(opened(case.faulty()), request, Hooks(), never)


class Rotate(Act):
    """A rotation that ends a password."""

    name = "rotate"

    def run(self, case: "Case") -> Any:
        return rotate(keychain(case.faulty()), [PASSWORD])

    def judge(self, case: "Case") -> None:
        (oracle,) = case.oracles
        oracle.require_listed()
        assert opens(oracle.storage, PASSWORD)
        assert case.told is None or not opens(oracle.storage, OTHER), "an ended password opens"

    def again(self, case: "Case") -> None:
        storage = case.oracles[0].storage
        rotate(keychain(storage), [PASSWORD])
        assert not opens(storage, OTHER)

    def is_first_again(self, case: "Case") -> bool:
        """One whose intent came after it had been taken for dead is undecided: then it must be run again."""
        late = case.way.late and case.arrived and case.breakage.broken.startswith("PUT intents/")
        return late or (case.way.fault is Fault.SLEEP and "backups wait" in str(case.error))


class Copy(Act):
    """A copy of all backups into an empty repository. Both media break."""

    secrets = (PASSWORD, OTHER_PASSWORD)

    def __init__(self, *, related: bool) -> None:
        self.related = related
        self.name = "copy-related" if related else "copy-unrelated"

    def media(self, stage: "Stage") -> "list[Objects]":
        return [stage.objects, stage.targets[self.related]]

    def run(self, case: "Case") -> Any:
        return _copied(case.faulty(0), case.faulty(1))

    def judge(self, case: "Case") -> None:
        origin, target = case.oracles
        origin.require_listed()
        listed, made = set(target.listed()), case.stage.ever | origin.kept
        assert listed <= made.keys() | target.kept.keys(), "a copy of a backup that nobody made"
        assert listed >= target.kept.keys()
        target.kept.update({each: made[each] for each in listed - target.kept.keys()})
        if case.told is not None and not case.told.failed:
            assert case.stage.ever.keys() - target.kept.keys() <= {case.stage.oldest}, "a copy that was told is missing"

    def again(self, case: "Case") -> None:
        origin, target = case.oracles
        assert _copied(origin.storage, target.storage).exit_code == 0
        target.kept.update(origin.kept)


class Forget(Act):
    """A deletion."""

    name = "forget"

    def run(self, case: "Case") -> Any:
        repository = opened(case.faulty())
        return forget(repository, plan(repository, ForgetRequest(ids=(case.stage.oldest,))))

    def judge(self, case: "Case") -> None:
        (oracle,) = case.oracles
        oracle.require_listed(perhaps_gone=frozenset([case.stage.oldest]))
        assert case.told is None or case.stage.oldest not in oracle.kept, "a deletion that was told is not there"

    def again(self, case: "Case") -> None:
        (oracle,) = case.oracles
        if case.stage.oldest in oracle.kept:
            oracle.forget(case.stage.oldest)
        oracle.prune()


class Check(Act):
    """A check that reads everything, and writes what it found."""

    name = "check"

    def run(self, case: "Case") -> Any:
        return check(opened(case.faulty()), CheckRequest(read_data=True), Hooks())

    def judge(self, case: "Case") -> None:
        case.oracles[0].require_listed()
        assert case.told is None or case.told.hurt == [], case.told

    def again(self, case: "Case") -> None:
        report = check(case.oracles[0].opened(), CheckRequest(read_data=True), Hooks())
        assert report.problems == []


class Repair(Act):
    """A repair of a repository of which nothing is lost."""

    hinders_prunes = (BackupUnreadableError, IntegrityError)

    def __init__(self, hurt: str) -> None:
        self.hurt = hurt
        self.name = f"repair-{hurt}".replace(" ", "-")

    def media(self, stage: "Stage") -> "list[Objects]":
        return [stage.hurt[self.hurt]]

    def run(self, case: "Case") -> Any:
        return _repaired(opened(case.faulty()))

    def again(self, case: "Case") -> None:
        report = _repaired(case.oracles[0].opened())
        assert (report.exit_code, report.chunks_lost) == (0, 0), report.steps

    def is_first_again(self, case: "Case") -> bool:
        """What was hurt before may still be."""
        return True


ACTS: dict[str, Act] = {
    act.name: act
    for act in (
        Backup(),
        Prune(),
        Rotate(),
        Copy(related=True),
        Copy(related=False),
        Forget(),
        Check(),
        Repair("copies and packs"),
        Repair("index"),
    )
}


def opened(storage: Storage, secret: bytes = PASSWORD) -> Repository:
    """Open a repository that may say what is hurt."""
    repository = open_repository(storage, secret)
    repository.warn = lambda _: None
    return repository


def _copied(origin: Storage, target: Storage) -> Any:
    # Small things are made findable at once, so that there are many steps.
    request = CopyRequest(flush_seconds=0.0)
    return copy_backups(opened(origin), opened(target, OTHER_PASSWORD), request, Hooks())


def _repaired(repository: Repository) -> Any:
    return repair(repository, RepairRequest(read_data=True, secret=PASSWORD), Hooks())
