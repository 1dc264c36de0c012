"""Storage in an S3-compatible bucket.

Owns how the contract is kept there: a PUT is atomic and durable when it is answered, and so is the completion of an
upload in parts. Existing names are refused by a conditional PUT; a server that ignores the condition overwrites, which
is why no guarantee of the engine rests on it.
"""

from collections.abc import Iterator
from typing import BinaryIO, Final

from repositories.engine.errors import RepositoryExistsError
from repositories.engine.limits import MIB
from repositories.engine.storage.base import StoredObject, validate_name, validate_prefix
from repositories.engine.storage.credentials import ACCESS_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN, Credentials
from repositories.engine.storage.opendal_storage import OpenDalStorage
from repositories.engine.storage.remote import SCRATCH, Pace, belongs_to_creation, no_pace
from repositories.engine.storage.remote_locations import RemoteLocation

_PART: Final = 8 * MIB
_PARTS_AT_ONCE: Final = 2
_READS_AT_ONCE: Final = 16
_AMAZON: Final = "Amazon S3"
_IN_ONE_PUT: Final = 16 * MIB
_DEFAULT_REGION: Final = "us-east-1"
_HINT: Final = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or their _FILE forms: see docs/storage.md"


class S3Storage(OpenDalStorage):
    """Objects below a prefix of a bucket."""

    def __init__(self, location: RemoteLocation, credentials: Credentials, pace: Pace = no_pace) -> None:
        """Connect to nothing yet. Raises ExtraMissingError, StorageRefusedError without credentials."""
        place = f"s3://{location.host}/{location.path}".rstrip("/")
        self._base, self._at = place, f" at {location.endpoint or _AMAZON}"
        super().__init__(place + self._at, pace, "s3", _options(location, credentials))

    def shown(self, name: str) -> str:
        """Return bucket, prefix and name, and the endpoint: the same bucket may be on two servers."""
        return f"{self._base}/{name}{self._at}"

    @property
    def refuses_existing(self) -> bool:
        """Some servers ignore the condition."""
        return False

    @property
    def reads_at_once(self) -> int:
        """More than elsewhere: what is under way at once is all that fills a wide link over a long way."""
        return _READS_AT_ONCE

    def prepare(self) -> None:
        """Make sure that the bucket answers, and that nothing foreign lies below the prefix."""
        for stored in self.list_from("", ""):
            if not belongs_to_creation(stored.name):
                raise RepositoryExistsError(
                    f"{self.place} holds objects already",
                    hint="choose a new or empty prefix; an existing repository is used, not created again",
                )

    def put(self, name: str, data: bytes | memoryview, *, overwrite: bool = False) -> None:
        """Store an object; durable when it returns."""
        validate_name(name)
        self.pace(len(data))
        with self._errors(name):
            if overwrite:
                self._write(name, bytes(data))
            else:
                self._write(name, bytes(data), if_not_exists=True)

    def list_from(self, prefix: str, after: str) -> Iterator[StoredObject]:
        """Yield objects in text order, a page of the server's at a time."""
        validate_prefix(prefix)
        start = {"start_after": after} if after else {}
        for page in self._pages(prefix, recursive=True, **start):
            for entry in page:
                if not entry.path.endswith("/") and not entry.path.startswith(SCRATCH):
                    yield StoredObject(entry.path, entry.metadata.content_length)

    def delete(self, name: str) -> None:
        """Remove an object; one that is not there does not matter, the server does not tell."""
        validate_name(name)
        with self._errors(name):
            self._operator.delete(name)

    def _put_open_file(self, name: str, file: BinaryIO, size: int) -> None:
        if size <= _IN_ONE_PUT:
            self.put(name, file.read())
            return
        with self._errors(name):
            self._write_pieces(name, file, chunk=_PART, concurrent=_PARTS_AT_ONCE, if_not_exists=True)


def _options(location: RemoteLocation, credentials: Credentials) -> dict[str, str]:
    options = {
        "bucket": location.host,
        "root": f"/{location.path}",
        "region": location.region or _DEFAULT_REGION,
        "access_key_id": credentials.require(ACCESS_KEY_ID, "access key", _HINT),
        "secret_access_key": credentials.require(SECRET_ACCESS_KEY, "secret key", _HINT),
        "disable_config_load": "true",
        "disable_ec2_metadata": "true",
    }
    optional = {
        "endpoint": location.endpoint,
        "session_token": credentials.get(SESSION_TOKEN),
        "checksum_algorithm": location.checksum,
        "enable_virtual_host_style": "true" if location.virtual_host else "",
    }
    return options | {name: value for name, value in optional.items() if value}
