"""A short run of the fuzzer with fixed seeds; `python -m tests.long.fuzz` goes on for as long as it is told."""

from pathlib import Path

import pytest

from repositories.engine.errors import EngineError
from repositories.engine.format.kinds import ObjectKind
from tests.engine.hostile.fuzzing import Kind, limit_memory, run_case
from tests.engine.hostile.targets import targets
from tests.engine.users import in_a_child

CASES = {Kind.DECODER: 40_000, Kind.REPOSITORY: 100}


@pytest.mark.parametrize("kind", Kind)
def test_nothing_but_typed_errors_comes_out(kind: Kind, tmp_path: Path) -> None:
    """2.12: whatever lies on the medium or under the seal, in bounded time and memory, and nothing outside a target."""

    def run() -> None:
        limit_memory()
        for number in range(CASES[kind]):
            try:
                run_case(kind, "suite", number, tmp_path)
            except Exception as error:
                raise AssertionError(f"python -m tests.long.fuzz --seed suite --kind {kind} --case {number}") from error

    in_a_child(run)


def test_every_kind_of_object_is_among_the_targets() -> None:
    names = {target.name for target in targets()}
    for kind in ObjectKind:
        word = kind.name.lower()
        under = {
            f"record of {word}",
            f"payload of {word}",
            {"index": "index segment", "pack": "pack directory"}.get(word, word),
        }
        above = {f"object of {word}"} | {name for name in names if name.startswith(word)}
        assert names & under, word
        assert names & above, word


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_what_is_changed_was_whole_before(target: object) -> None:
    """Else the fuzzer would only look at the first thing that a decoder refuses."""
    refused = []
    for sample in target.samples:  # type: ignore[attr-defined]
        try:
            target.decode(sample)  # type: ignore[attr-defined]
        except EngineError as error:
            refused.append(error)
    # The pages that these lists name do not exist.
    assert not refused or "list" in target.name, refused  # type: ignore[attr-defined]
