"""Where the credentials of a remote repository come from: the usual variables, files that they name, an ssh agent.

Never an argument and never the location. Owns which variables are read for which kind of location; keeps nothing.
"""

from pathlib import Path
from typing import Final

import msgspec

from repositories.console.failures import CommandError
from repositories.engine.storage import credentials as names
from repositories.engine.storage.locations import parse_location
from repositories.engine.storage.remote_locations import RemoteLocation
from syncova_project import env

_HOME_KEYS: Final = ("id_ed25519", "id_ecdsa", "id_rsa")
_HOME_KNOWN_HOSTS: Final = ".ssh/known_hosts"
_KNOWN_HOSTS: Final = "/etc/ssh/ssh_known_hosts"


def credentials_for(location: str, settings: env.Environment | None = None) -> dict[str, str]:
    """Return what opens the medium that `location` names, by the engine's names; empty for a directory.

    `settings`: where ours are read; None: in this process's environment alone. What is not set is left out: the engine
    says what it misses. Raises CommandError for a file that cannot be read, ConfigurationError.
    """
    place = parse_location(location)
    if isinstance(place, str):
        return {}
    ours = settings or env.process_environment()
    found = _aws() if place.scheme == "s3" else {"sftp": _sftp}.get(place.scheme, _webdav)(ours)
    return {name: value for name, value in found.items() if value}


def with_region(place: RemoteLocation) -> RemoteLocation:
    """Return an S3 location with this machine's region where it names none, and every other as it is."""
    if place.scheme != "s3" or place.region:
        return place
    return msgspec.structs.replace(place, region=env.foreign("AWS_REGION") or env.foreign("AWS_DEFAULT_REGION") or "")


def _aws() -> dict[str, str | None]:
    key = env.foreign_secret("AWS_ACCESS_KEY_ID")
    if key is None:
        return _aws_profile()
    return {
        names.ACCESS_KEY_ID: key,
        names.SECRET_ACCESS_KEY: env.foreign_secret("AWS_SECRET_ACCESS_KEY"),
        names.SESSION_TOKEN: env.foreign_secret("AWS_SESSION_TOKEN"),
    }


def _aws_profile() -> dict[str, str | None]:
    """Return the keys of a profile in the file that Amazon's own programs read."""
    named = env.foreign("AWS_SHARED_CREDENTIALS_FILE")
    path = Path(named) if named else _home() / ".aws/credentials"
    # Few commands read one.
    import configparser

    parser = configparser.RawConfigParser()
    try:
        with path.open(encoding="utf-8") as file:
            parser.read_file(file)
    except FileNotFoundError:
        if named:
            raise _unreadable(path, "it does not exist") from None
        return {}
    except (OSError, UnicodeDecodeError, configparser.Error):
        # Neither the reason nor the cause: both may quote a line.
        raise _unreadable(path, "it cannot be read as a file of profiles") from None
    profile = env.foreign("AWS_PROFILE") or "default"
    if not parser.has_section(profile):
        return {}
    return {
        names.ACCESS_KEY_ID: parser.get(profile, "aws_access_key_id", fallback=None),
        names.SECRET_ACCESS_KEY: parser.get(profile, "aws_secret_access_key", fallback=None),
        names.SESSION_TOKEN: parser.get(profile, "aws_session_token", fallback=None),
    }


def _sftp(settings: env.Environment) -> dict[str, str | None]:
    agent = env.foreign("SSH_AUTH_SOCK")
    key = settings.text("SYNCOVA_SFTP_KEY")
    password = settings.text("SYNCOVA_SFTP_PASSWORD")
    if key is None and agent is None and password is None:
        key = next((str(path) for name in _HOME_KEYS if (path := _home() / ".ssh" / name).is_file()), None)
    known = settings.text("SYNCOVA_SFTP_KNOWN_HOSTS")
    if known is None:
        own = _home() / _HOME_KNOWN_HOSTS
        known = str(own) if own.is_file() else _KNOWN_HOSTS
    return {
        names.KEY_FILE: key,
        names.KEY_PASSPHRASE: settings.text("SYNCOVA_SFTP_KEY_PASSPHRASE"),
        names.PASSWORD: password,
        names.AGENT: agent,
        names.KNOWN_HOSTS: known,
    }


def _webdav(settings: env.Environment) -> dict[str, str | None]:
    return {
        names.PASSWORD: settings.text("SYNCOVA_WEBDAV_PASSWORD"),
        names.TOKEN: settings.text("SYNCOVA_WEBDAV_TOKEN"),
    }


def _home() -> Path:
    home = env.foreign("HOME") or "/"
    return Path(home)


def _unreadable(path: Path, reason: str) -> CommandError:
    return CommandError(f"the credentials file {path} is of no use: {reason}", hint="see docs/storage.md")
