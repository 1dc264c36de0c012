"""The two programs as they are, with cheap keys: `python -m tests.engine.faults.program repo|agent VERB …`.

Owns nothing but the costs of new key slots, which would take most of a test's time.
"""

import dataclasses
import sys

from agents.runtime.program import main as agent_main
from repositories.cli.program import main as repo_main
from repositories.engine import keychain as keychain_package
from repositories.engine.keychain import Keychain
from repositories.engine.storage.base import Storage
from tests.engine.fakes import CHEAP

_open_dearly = keychain_package.open_keychain


def _open_cheaply(medium: Storage, secret: bytes, *, without_inventory: bool = False) -> Keychain:
    return dataclasses.replace(_open_dearly(medium, secret, without_inventory=without_inventory), kdf=CHEAP)


if __name__ == "__main__":
    vars(keychain_package)["open_keychain"] = _open_cheaply
    sys.exit((repo_main if sys.argv[1] == "repo" else agent_main)(sys.argv[2:]))
