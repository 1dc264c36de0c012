"""What people are told to look at when a medium far away answers, and not as it should."""

from collections.abc import Callable
from pathlib import Path

import pytest

from repositories.engine.errors import RepositoryError, RepositoryNotFoundError, StorageRefusedError
from repositories.engine.repository import open_repository
from repositories.engine.storage.credentials import PASSWORD as PASSWORD_NAME
from repositories.engine.storage.credentials import Credentials
from repositories.engine.storage.locations import open_backend, open_storage
from repositories.engine.storage.remote import no_pace
from repositories.engine.storage.remote_locations import parse_remote
from tests.engine.repositories import PASSWORD
from tests.engine.storage.proxy import Faults, proxy
from tests.engine.storage.servers import Server
from tests.engine.storage.test_remote_faults import answer, storage_at

ServerOf = Callable[[str], Server]


@pytest.mark.parametrize(("kind", "status"), [("s3", 500), ("webdav", 500), ("webdav", 405)])
def test_an_answer_that_may_mean_a_full_medium_hints_at_its_room(
    kind: str, status: int, server_of: ServerOf, tmp_path: Path
) -> None:
    with proxy(server_of(kind).port, faults=Faults(answers=lambda number, head: answer(status))) as port:
        storage = storage_at(server_of(kind), "x", port, tmp_path)
        with pytest.raises(RepositoryError) as caught:
            storage.put("marks/a", b"1")
    assert "the room on the server's medium" in caught.value.hint


def test_a_failure_of_sftp_without_a_reason_hints_at_the_room(server_of: ServerOf) -> None:
    """Servers of SFTP tell of a full medium by the one word for every failure, as for a file in a directory's place."""
    server = server_of("openssh")
    (server.directory / "room").mkdir()
    (server.directory / "room" / "marks").write_text("in the way")
    with pytest.raises(RepositoryError, match="the server says that this failed") as caught:
        open_backend(parse_remote(server.location("room")), server.credentials, no_pace).put("marks/a", b"1")
    assert "the room on the server's medium" in caught.value.hint


def test_credentials_that_are_not_given_to_webdav_are_told(server_of: ServerOf) -> None:
    server = server_of("webdav")
    for location, given, reason in (
        (server.location("x"), Credentials({}), "neither password nor token is given"),
        (server.location("x").replace("keeper@", ""), server.credentials, "no user stands in the location"),
        (server.location("x"), Credentials({PASSWORD_NAME: "wrong"}), "does not accept the credentials"),
    ):
        with pytest.raises(StorageRefusedError, match=reason) as caught:
            open_backend(parse_remote(location), given, no_pace).get("marks/a")
        assert ("SYNCOVA_WEBDAV_PASSWORD" in caught.value.hint) == ("given" in caught.value.message)


def test_no_repository_far_away_is_no_matter_of_a_mount(server_of: ServerOf) -> None:
    server = server_of("s3")
    with pytest.raises(RepositoryNotFoundError) as caught:
        open_repository(open_storage(server.location("nothing-here"), server.credentials), PASSWORD)
    assert "check the location" in caught.value.hint
    assert "mount" not in caught.value.hint
