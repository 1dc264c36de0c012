"""Bodies that the API of repositories takes, as its description shows them (7.7).

Owns the examples alone; a test holds each against what reads it.
"""

from typing import Any, Final

REGISTRATION: Final[dict[str, Any]] = {
    "name": "vault",
    "location": "/srv/backups/vault",
    "password": "correct horse battery staple",
    "worker_group": "default",
}
FREEZE: Final[dict[str, Any]] = {"reason": "The medium is being moved."}
UNFREEZE: Final[dict[str, Any]] = {"adopt_observed_id": False}
LIMITS: Final[dict[str, Any]] = {"max_concurrent_runs": 2, "serial_gate": False}
