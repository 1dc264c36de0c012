"""Records of sessions and garbage collection: leases, marks, sweeps; and of control planes.

Owns the fields only; what they mean for deletion is decided in sessions/.
"""

import enum

from repositories.engine.format.records import Record


class SessionPurpose(enum.IntEnum):
    """Why a session exists."""

    WRITE = 1
    READ = 2
    PRUNE = 3
    ROTATE = 4
    KEYS = 5


class LeaseRecord(Record, frozen=True):
    """What `sessions/<id>` seals; rewritten by its holder alone, with a rising counter.

    Whether the holder lives is judged by boot id, pid namespace, process and start time (clock ticks since boot), or by
    a counter that stands still on the observer's own clock; `started_ns` is shown to people and compared to nothing.
    """

    session_id: bytes
    purpose: int
    counter: int
    fence: int
    boot_id: bytes
    pid_namespace: int
    pid: int
    process_start: int
    host: str
    started_ns: int


class MarkRecord(Record, frozen=True):
    """What `marks/<id>` seals: mark `number`, and the packs (16-byte ids, joined, sorted) that may go."""

    number: int
    session_id: bytes
    created_ns: int
    packs: bytes


class SweepRecord(Record, frozen=True):
    """What `sweeps/<id>` seals: ids (16 bytes, joined, sorted) of what stays accepted and of the packs that go."""

    number: int
    session_id: bytes
    created_ns: int
    manifests: bytes
    checkpoints: bytes
    segments: bytes
    packs: bytes


class ControllerRecord(Record, frozen=True):
    """What `controllers/<controller>/<id>` seals: a control plane's epoch and highest fence."""

    controller_id: bytes
    epoch: int
    highest_fence: int
    created_ns: int
