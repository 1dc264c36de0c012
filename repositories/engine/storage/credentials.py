"""What a remote medium is told to let us in: secrets by name, on their way from a request to a library.

Owns the names and that no value is ever shown. Reads no environment and no file but private keys that it is named.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from repositories.engine.errors import StorageRefusedError

ACCESS_KEY_ID: Final = "access_key_id"
SECRET_ACCESS_KEY: Final = "secret_access_key"  # noqa: S105  (a name, no secret)
SESSION_TOKEN: Final = "session_token"  # noqa: S105
PASSWORD: Final = "password"  # noqa: S105
TOKEN: Final = "token"  # noqa: S105
KEY_FILE: Final = "key_file"
KEY_PASSPHRASE: Final = "key_passphrase"  # noqa: S105
KNOWN_HOSTS: Final = "known_hosts"
AGENT: Final = "agent"


class Credentials(msgspec.Struct, frozen=True):
    """Values by the names above; what is missing is not there. Its repr shows none."""

    values: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return "Credentials()"

    def get(self, name: str) -> str:
        """Return a value, or "" where there is none."""
        return self.values.get(name, "")

    def require(self, name: str, meaning: str, hint: str) -> str:
        """Return a value; StorageRefusedError says what is missing and how it is given."""
        value = self.get(name)
        if not value:
            raise StorageRefusedError(f"no {meaning} is given for the repository", hint=hint)
        return value


NO_CREDENTIALS: Final = Credentials()
