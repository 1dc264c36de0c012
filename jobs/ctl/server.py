"""Which server to speak to, and as whom: SYNCOVA_URL and SYNCOVA_TOKEN, else what `up` wrote into DATA/ctl.json.

Owns the rule that the token of one server is never sent to another. Sends nothing.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import urlsplit

from repositories.console.failures import CommandError
from repositories.engine.display import show_text
from syncova_project import env

FILE = "ctl.json"
# What an HTTP header can carry; anything else would be refused by a library, in a message that quotes it.
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_HINT = "start one with `./syncova up -d`, or set SYNCOVA_URL and SYNCOVA_TOKEN_FILE"


class ServerUnknownError(CommandError):
    """Nothing says where the server is, or what says so cannot be used."""

    code: ClassVar[str] = "SERVER_UNKNOWN"


class TokenMissingError(CommandError):
    """There is no token for the server."""

    code: ClassVar[str] = "TOKEN_MISSING"


@dataclass(frozen=True, slots=True)
class Server:
    """An address without a slash at its end, and the token to show there."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Written:
    url: str
    token_file: Path


def find_server() -> Server:
    """Return the server that the environment names, else the one of this machine's data directory.

    Raises ServerUnknownError, TokenMissingError.
    """
    environment = env.load()
    url, token = environment.text("SYNCOVA_URL"), environment.text("SYNCOVA_TOKEN")
    if url is not None and token is not None:
        return Server(_checked(url), _usable(token, "SYNCOVA_TOKEN"))
    written = _written(env.data_directory(environment) / FILE)
    if token is not None:
        return Server(_checked(written.url), _usable(token, "SYNCOVA_TOKEN"))
    if url is not None and _checked(url) != _checked(written.url):
        raise TokenMissingError(
            f"there is no token for {url}",
            hint="set SYNCOVA_TOKEN_FILE; make one with: ./syncova manage token_create NAME",
        )
    return Server(_checked(written.url), _token(written.token_file))


def _written(file: Path) -> _Written:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return _Written(str(content["url"]), Path(content["token_file"]))
    except FileNotFoundError:
        raise ServerUnknownError(f"no server is known: {file} does not exist", hint=_HINT) from None
    except PermissionError:
        raise ServerUnknownError(f"this user may not read {file}", hint=_HINT) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ServerUnknownError(f"{file} cannot be used: {type(error).__name__}", hint=_HINT) from None


def _token(file: Path) -> str:
    try:
        return _usable(file.read_text(encoding="ascii"), f"the token file {file}")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it holds no token"
        raise TokenMissingError(f"the token file {file} cannot be read: {reason}", hint=_HINT) from None


def _usable(token: str, place: str) -> str:
    """Return the token without outer blanks; what cannot be one is refused and never shown."""
    if _TOKEN.fullmatch(token.strip()) is None:
        why = "is empty" if not token.strip() else "holds characters that no token has, such as a line break or a blank"
        raise TokenMissingError(f"{place} {why}", hint="make a token with: ./syncova manage token_create NAME")
    return token.strip()


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
    except ValueError:
        usable = False
    if not usable:
        # What stands before an @ may be a password.
        shown = show_text(url) if "@" not in url else "what SYNCOVA_URL holds"
        raise ServerUnknownError(f"{shown} is no address of a server", hint="write it as https://backup.example.org")
    return url.strip().rstrip("/")
