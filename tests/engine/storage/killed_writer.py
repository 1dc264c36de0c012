"""A process that backs up to a remote medium and is killed, as by `kill -9`, in the middle of sending its first pack.

Its standard input tells location, credentials and tree.
"""

import json
import os
import signal
import sys
from pathlib import Path

from repositories.engine.repository import open_repository
from repositories.engine.storage.credentials import Credentials
from repositories.engine.storage.locations import open_storage
from tests.engine.repositories import PASSWORD, back_up_tree

# No other object of this repository is as large; some backends send packs in pieces of this size.
_OF_A_PACK = 1_000_000


def _kill_at_pack(count: int) -> None:
    if count >= _OF_A_PACK:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run."""
    told = json.load(sys.stdin)
    storage = open_storage(told["location"], Credentials(told["credentials"]), _kill_at_pack)
    back_up_tree(open_repository(storage, PASSWORD), Path(told["tree"]))


if __name__ == "__main__":
    main()
