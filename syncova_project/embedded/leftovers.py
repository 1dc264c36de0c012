"""Stop what a starter left that was killed: its servers and processes go on without it.

Owns finding and ending them, in the order of an orderly stop. The caller holds the data directory.
"""

import signal
from collections.abc import Callable

from syncova_project.embedded import ownership, postgres, processes, valkey
from syncova_project.embedded.layout import Layout

_GRACE = 29.0


def stop_leftovers(layout: Layout, say: Callable[[str], None], grace: float = _GRACE) -> int:
    """Stop every recorded process that still lives and every one that writes to our logs; return how many."""
    record = ownership.read_record(layout)
    recorded = record.members if record else ()
    alive = [member for member in recorded if processes.is_alive(member.identity)]
    strays = processes.writers_of(layout.logs)
    found = len({*strays, *(member.identity for member in alive)})
    if not found:
        return 0
    processes.wake(strays)
    say(f"Stopping {found} processes that an earlier start left")
    others = [member.identity for member in alive if member.name not in {postgres.NAME, valkey.NAME}]
    processes.stop(others, signal.SIGTERM, grace)
    for member in alive:
        if member.name == postgres.NAME:
            postgres.stop(member.identity)
        elif member.name == valkey.NAME:
            valkey.stop(member.identity)
    # Whatever no record names: PostgreSQL ends orderly on SIGINT, everything of ours on SIGTERM.
    for number, patience in ((signal.SIGINT, 3.0), (signal.SIGTERM, 2.0)):
        rest = processes.writers_of(layout.logs)
        for identity in rest:
            processes.send(identity, number)
        processes.wait_gone(rest, patience)
    processes.stop(processes.writers_of(layout.logs), signal.SIGKILL, 2)
    return found
