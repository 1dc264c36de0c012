"""Functions run at the same moment, each in a thread with a database connection of its own."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connection


def at_once(functions: Sequence[Callable[[], Any]]) -> list[Any]:
    """Start all functions behind one barrier; return their results, or the errors that they raised, in order."""
    gate = threading.Barrier(len(functions))

    def one(function: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            gate.wait(timeout=30)
            return function()
        except Exception as error:  # noqa: BLE001 - returned, for the test to look at
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(one, functions))


def blocked_by_this(pool: ThreadPoolExecutor, function: Callable[[], Any]) -> Future[Any]:
    """Start a function in a thread, and return once its connection waits for a lock that this transaction holds."""

    def one() -> Any:
        try:
            return function()
        finally:
            connection.close()

    future = pool.submit(one)
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    for _ in range(600):
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            row = cursor.fetchone()
        if row is not None and row[0]:
            return future
        time.sleep(0.05)
    raise AssertionError("nothing waits for this transaction")
