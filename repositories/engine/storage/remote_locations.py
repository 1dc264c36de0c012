"""Locations of remote media: `s3://bucket/prefix?…`, `sftp://user@host:port/path`, `webdavs://user@host/path`.

Owns their grammar and the one form in which they are shown and stored. Nothing secret can stand in a location: user
information with a password and unknown parameters are refused without being repeated. Knows no library and no medium.
"""

import re
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import msgspec

from repositories.engine.display import show_count
from repositories.engine.errors import ConfigurationError

SCHEMES: Final = ("s3", "sftp", "webdav", "webdavs")
"""What `parse_remote` takes."""
_FORMS: Final = {
    "s3": "s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION",
    "sftp": "sftp://USER@HOST:PORT/PATH",
    "webdav": "webdav://USER@HOST:PORT/PATH",
    "webdavs": "webdavs://USER@HOST:PORT/PATH",
}
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]")
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SHORTEST, _LONGEST = 3, 63
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]")
_USER: Final = re.compile(r"[^\x00-\x1f\x7f@:/]{1,64}")
_WORD: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_CHECKSUMS: Final = ("crc32c", "md5")


class RemoteLocation(msgspec.Struct, frozen=True):
    """Where a remote repository lies. `host` is the bucket of an S3 location; `path` has no slash at its ends.

    `endpoint`, `region`, `checksum` and `virtual_host` are S3's.
    """

    scheme: str
    host: str
    path: str
    user: str = ""
    port: int | None = None
    endpoint: str = ""
    region: str = ""
    checksum: str = ""
    virtual_host: bool = False

    @property
    def text(self) -> str:
        """Return the location as it is shown, stored and compared; it parses to an equal one."""
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        port = f":{self.port}" if self.port is not None else ""
        base = f"{self.scheme}://{user}{self.host}{port}/{quote(self.path)}"
        query = [
            *([f"endpoint={quote(self.endpoint, safe=':/')}"] if self.endpoint else []),
            *([f"region={self.region}"] if self.region else []),
            *([f"checksum={self.checksum}"] if self.checksum else []),
            *(["virtual-host=yes"] if self.virtual_host else []),
        ]
        return base + ("?" + "&".join(query) if query else "")


def is_remote(location: str) -> bool:
    """Tell whether a location begins as a remote one that is offered."""
    scheme, separator, _ = location.partition("://")
    return bool(separator) and scheme.lower() in SCHEMES


def parse_remote(location: str) -> RemoteLocation:
    """Return what a remote location names. Raises ConfigurationError.

    Its message quotes nothing of the location but the name of a bucket and an endpoint.
    """
    scheme = location.partition("://")[0].lower()
    try:
        parts = urlsplit(location)
        port = parts.port
        host = parts.netloc.rpartition("@")[2].removesuffix("" if port is None else f":{port}")
    except ValueError:
        raise _wrong(scheme, "it is no address") from None
    if _UNSAFE.search(location):
        raise _wrong(scheme, "it holds control characters or backslashes")
    if parts.password is not None:
        raise ConfigurationError(
            "the location holds a password", hint="pass credentials by the environment or a file, never in a location"
        )
    if parts.fragment:
        raise _wrong(scheme, "it holds a '#'")
    if scheme == "s3":
        return _s3(parts.username, host, port, parts.path, parts.query)
    if parts.query:
        raise _wrong(scheme, "it holds a '?'")
    return _server(scheme, unquote(parts.username or ""), host, port, parts.path)


def _server(scheme: str, user: str, host: str, port: int | None, path: str) -> RemoteLocation:
    if not _HOST.fullmatch(host):
        raise _wrong(scheme, "it names no host")
    if user and not _USER.fullmatch(user):
        raise _wrong(scheme, "its user is no name")
    if scheme == "sftp" and not user:
        raise _wrong(scheme, "it names no user")
    return RemoteLocation(scheme, host.lower(), _path(scheme, path, required=scheme == "sftp"), user, port)


def _s3(user: str | None, bucket: str, port: int | None, path: str, query: str) -> RemoteLocation:
    if user is not None or port is not None:
        raise _wrong("s3", "a bucket has neither user nor port")
    try:
        given = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=8)
    except ValueError:
        raise _wrong("s3", "its parameters are not NAME=VALUE") from None
    options = dict(given)
    if len(options) != len(given) or options.keys() - {"endpoint", "region", "checksum", "virtual-host"}:
        raise _wrong("s3", "its parameters are endpoint, region, checksum and virtual-host, each once")
    if not _WORD.fullmatch(options.get("region", "x")):
        raise _wrong("s3", "its region is no word")
    if options.get("checksum", "") not in ("", *_CHECKSUMS):
        raise _wrong("s3", f"its checksum is none of {', '.join(_CHECKSUMS)}")
    if options.get("virtual-host", "no") not in ("yes", "no"):
        raise _wrong("s3", "its virtual-host is neither yes nor no")
    endpoint = _endpoint(options.get("endpoint", ""))
    if not _BUCKET.fullmatch(bucket):
        raise _no_bucket(bucket, endpoint)
    return RemoteLocation(
        "s3",
        bucket,
        _path("s3", path, required=False),
        endpoint=endpoint,
        region=options.get("region", ""),
        checksum=options.get("checksum", ""),
        virtual_host=options.get("virtual-host") == "yes",
    )


def _no_bucket(bucket: str, endpoint: str) -> ConfigurationError:
    """Return why this names no bucket; it is quoted where it holds nothing but what names and hosts are made of."""
    if not bucket:
        return _wrong("s3", "it names no bucket")
    name = f"'{bucket}'" if _PLAIN.fullmatch(bucket) else "in it"
    where = f" (endpoint {endpoint})" if endpoint else ""
    if not _SHORTEST <= len(bucket) <= _LONGEST:
        size = show_count(len(bucket), "character")
        return _wrong("s3", f"the bucket name {name} has {size}, but S3 takes {_SHORTEST} to {_LONGEST}{where}")
    rule = "lower-case letters, digits, '.', '_' and '-', a letter or digit at both ends"
    return _wrong("s3", f"the bucket name {name} is none, since S3 takes {rule}{where}")


def _endpoint(text: str) -> str:
    if not text:
        return ""
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        port = parts.port
    except ValueError:
        raise _wrong("s3", "its endpoint is no address") from None
    host = parts.netloc.removesuffix("" if port is None else f":{port}")
    plain = not (parts.path.strip("/") or parts.query or parts.fragment)
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host) or not plain:
        raise _wrong("s3", "its endpoint is not https://HOST or https://HOST:PORT")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _path(scheme: str, path: str, *, required: bool) -> str:
    plain = unquote(path).strip("/")
    pieces = plain.split("/") if plain else []
    if any(piece in ("", ".", "..") for piece in pieces) or _UNSAFE.search(plain):
        raise _wrong(scheme, "its path has empty parts, '.', '..' or control characters")
    if required and not pieces:
        raise _wrong(scheme, "it names no directory")
    return plain


def _wrong(scheme: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"the {scheme} location cannot be used: {reason}", hint=f"write it as {_FORMS.get(scheme, _FORMS['s3'])}"
    )
