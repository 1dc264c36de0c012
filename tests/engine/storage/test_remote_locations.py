"""Remote locations: what they name, their one written form, and what is refused."""

import pytest

from repositories.engine.errors import ConfigurationError
from repositories.engine.storage.remote_locations import RemoteLocation, is_remote, parse_remote


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("s3://bucket", RemoteLocation("s3", "bucket", "")),
        ("S3://bucket/a/b/", RemoteLocation("s3", "bucket", "a/b")),
        (
            "s3://bucket/x?endpoint=https://S3.example.com:9000&region=eu-1&checksum=crc32c&virtual-host=yes",
            RemoteLocation(
                "s3",
                "bucket",
                "x",
                endpoint="https://s3.example.com:9000",
                region="eu-1",
                checksum="crc32c",
                virtual_host=True,
            ),
        ),
        (
            "s3://bucket/x?endpoint=s3.example.com",
            RemoteLocation("s3", "bucket", "x", endpoint="https://s3.example.com"),
        ),
        ("sftp://me@host/srv/backup", RemoteLocation("sftp", "host", "srv/backup", "me")),
        ("sftp://me@Host:2222/~/backup", RemoteLocation("sftp", "host", "~/backup", "me", 2222)),
        ("sftp://me@[::1]:22/x", RemoteLocation("sftp", "[::1]", "x", "me", 22)),
        ("webdavs://host/dav/x%20y", RemoteLocation("webdavs", "host", "dav/x y")),
        ("webdav://me@127.0.0.1:8080/x", RemoteLocation("webdav", "127.0.0.1", "x", "me", 8080)),
    ],
)
def test_what_a_location_names_and_its_one_form(location: str, expected: RemoteLocation) -> None:
    assert is_remote(location)
    assert parse_remote(location) == expected
    assert parse_remote(expected.text) == expected


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("s3://", "no bucket"),
        ("s3://Bucket/x", "bucket name 'Bucket' is none, since S3 takes lower-case"),
        ("s3://ab/x", "bucket name 'ab' has 2 characters, but S3 takes 3 to 63$"),
        ("s3://ab/x?endpoint=https://H:90", r"'ab' has 2 characters, .* \(endpoint https://h:90\)"),
        ("s3://" + 64 * "b", "bucket name 'b{64}' has 64 characters"),
        ("s3://a%bc/x", "bucket name in it is none"),
        ("s3://bucket:80/x", "neither user nor port"),
        ("s3://bucket/a/../b", "its path"),
        ("s3://bucket/a//b", "its path"),
        ("s3://bucket/x?acl=public", "its parameters"),
        ("s3://bucket/x?region=a&region=b", "its parameters"),
        ("s3://bucket/x?region", "its parameters"),
        ("s3://bucket/x?region=a/b", "its region"),
        ("s3://bucket/x?endpoint=ftp://h", "its endpoint"),
        ("s3://bucket/x?endpoint=https://h/path", "its endpoint"),
        ("s3://bucket/x?checksum=sha1", "its checksum"),
        ("s3://bucket/x?virtual-host=1", "its virtual-host"),
        ("sftp://host/x", "no user"),
        ("sftp://me@host", "no directory"),
        ("sftp://me@/x", "no host"),
        ("sftp://me@host:99999/x", "no address"),
        ("sftp://me@ho st/x", "no host"),
        ("webdavs://host/x?y=z", "a '\\?'"),
        ("webdavs://host/x\ny", "control"),
        ("webdavs://host/%2e%2e/x", "its path"),
    ],
)
def test_what_cannot_be_a_location_is_refused_with_the_reason(location: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason) as caught:
        parse_remote(location)
    assert "write it as" in caught.value.hint


@pytest.mark.parametrize("location", ["/s3://x", "s3:bucket", "ftp://host/x", "sftp:me@host:/x", "./webdavs://x", ""])
def test_what_is_no_remote_location(location: str) -> None:
    assert not is_remote(location)
