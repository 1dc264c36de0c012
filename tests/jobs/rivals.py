"""Functions run at the same moment, each in a thread with a database connection of its own."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
