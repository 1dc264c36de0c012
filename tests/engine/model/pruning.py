"""The steps of a prune of the state model, in order, with what each reads, writes and stands for."""

from tests.engine.model import deciding, removing
from tests.engine.model.deciding import Prune
from tests.engine.model.medium import INDEX, KEYS, MANIFEST, MARK, NOTE, PACK, SWEEP
from tests.engine.model.program import PROGRAMS, Program

__all__ = ["Prune"]
_KEYS = "list keychanges, list intents, list keyrings"
_NOTES = "list tombstones, list annotations"


def _prove(program: Program, step: str) -> None:
    program.add(f"alone to {step}", deciding.look_for_others, reads=MARK | SWEEP, operations="list marks, list sweeps")
    program.add(f"keys to {step}", deciding.look_at_the_keys, reads=KEYS, operations=_KEYS)


def _look(program: Program, phase: str, first: str = "") -> None:
    add = program.add
    add(f"names to {phase}", deciding.list_manifests, reads=MANIFEST, operations=f"{first}list manifests")
    add(f"rest to {phase}", deciding.list_the_rest, reads=MANIFEST)
    add(f"accept to {phase}", deciding.read_sweep, reads=SWEEP, operations="list checkpoints, list sweeps, list damage")
    add(f"index to {phase}", deciding.list_index, reads=INDEX, operations="list index")
    add(f"there to {phase}", deciding.list_packs, reads=PACK, operations="list packs, list damage")
    add(f"notes to {phase}", deciding.read_notes, reads=NOTE | MANIFEST, operations=_NOTES)


def _begin(program: Program) -> None:
    add = program.add
    add("open", deciding.begin, reads=KEYS, operations="put sessions, list sessions")
    add("doomed", deciding.read_doomed, reads=MARK | SWEEP, operations="list marks, list sweeps")
    add("early", deciding.list_early, reads=PACK, operations="list packs")
    _look(program, "plan", "list sessions, ")
    add("fence", deciding.read_fence, reads=MARK | SWEEP, operations="list marks, list sweeps")
    add("put repacked", deciding.put_repacked, writes=PACK, operations="put packs")
    add("list repacked", deciding.list_repacked, writes=INDEX, operations="put index")
    _look(program, "replan")
    add("number", deciding.read_number, reads=MARK | SWEEP, operations="list marks, list sweeps")
    add("mark", deciding.put_mark, writes=MARK, operations="put marks")


def _sweep(program: Program) -> None:
    add = program.add
    _prove(program, "names to decide")
    _look(program, "decide", "list sessions, ")
    _prove(program, "sweep")
    add("sweep", removing.put_sweep, writes=SWEEP, operations="put sweeps")
    _prove(program, "affirm")
    add("affirm", removing.affirm, writes=NOTE, operations="list tombstones")
    add("index", removing.put_index, writes=INDEX, operations="put index")
    _prove(program, "old index")
    add("old index", removing.one_by_one("old index", "packs"), writes=INDEX, operations="delete index")
    add("packs", removing.list_going, reads=PACK, operations="list packs")
    _prove(program, "packs away")
    add("packs away", removing.one_by_one("packs away", "manifests"), writes=PACK, operations="delete packs")


def _clear(program: Program) -> None:
    add = program.add
    add("manifests", removing.take_manifests)
    _prove(program, "manifests away")
    away = removing.one_by_one("manifests away", "sweeps")
    add("manifests away", away, writes=MANIFEST, operations="delete manifests")
    add("sweeps", removing.take_sweeps, reads=SWEEP, operations="list sweeps")
    _prove(program, "sweeps away")
    add("sweeps away", removing.one_by_one("sweeps away", "marks"), writes=SWEEP, operations="delete sweeps")
    add("marks", removing.take_marks, reads=MARK, operations="list marks")
    _prove(program, "marks away")
    add("marks away", removing.one_by_one("marks away", "end"), writes=MARK, operations="delete marks")


def _program() -> Program:
    program = Program(back="packs away", to="index")
    for part in (_begin, _sweep, _clear):
        part(program)
    return program


PROGRAMS[Prune] = _program()
