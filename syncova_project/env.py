"""The only file that reads the environment: typed readers for the declared SYNCOVA_ names that fail loudly.

Owns precedence (environment, then the settings file), the `…_FILE` variants and the refusal of unknown names.
Must not import Django: the command-line programs read through it too.
"""

import contextlib
import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from syncova_project.errors import ConfigurationError
from syncova_project.setting_table import BY_NAME, FOREIGN_PREFIXES, PREFIX, Kind, Setting

SYSTEM_SETTINGS_FILE = Path("/etc/syncova/syncova.env")
SETTINGS_FILE_NAME = "syncova.env"
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})
# Longer values are no setting but the wrong file (a disk image, a device).
_FILE_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """The text of one setting and where it came from."""

    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Environment:
    """Variables with their origins; every reader raises ConfigurationError naming the setting and the reason."""

    variables: Mapping[str, Found]

    def find(self, name: str) -> Found | None:
        """Return text and origin of a declared setting, or its default, or None when it has neither."""
        setting = _declared(name)
        direct, indirect = self.variables.get(name), self.variables.get(f"{name}_FILE")
        if direct is not None and indirect is not None:
            raise ConfigurationError(f"{name} and {name}_FILE are both set.", hint="Keep one of them.")
        if direct is not None:
            return direct
        if indirect is not None:
            return Found(_file_text(f"{name}_FILE", indirect.value), f"{indirect.origin}, {name}_FILE")
        return None if setting.default is None else Found(setting.default, "default")

    def text(self, name: str) -> str | None:
        """Return the text of a setting, or None."""
        found = self.find(name)
        return None if found is None else found.value

    def word(self, name: str) -> str:
        """Return the text of a setting that has a default; a choice is checked."""
        value, setting = self.text(name) or "", _declared(name)
        if setting.kind is Kind.CHOICE and value not in setting.choices:
            raise _wrong(name, value, f"one of {', '.join(setting.choices)}")
        return value

    def integer(self, name: str) -> int:
        """Return a whole number inside the declared bounds."""
        setting, value = _declared(name), (self.text(name) or "").strip()
        wanted = f"a whole number from {setting.minimum} to {setting.maximum}"
        if not (value.isascii() and value.lstrip("-").isdigit()):
            raise _wrong(name, value, wanted)
        number = int(value)
        too_small = setting.minimum is not None and number < setting.minimum
        if too_small or (setting.maximum is not None and number > setting.maximum):
            raise _wrong(name, value, wanted)
        return number

    def flag(self, name: str) -> bool:
        """Return true or false; anything but the usual eight words is refused."""
        value = (self.text(name) or "").strip().lower()
        if value not in _TRUE | _FALSE:
            raise _wrong(name, value, "true or false")
        return value in _TRUE

    def words(self, name: str) -> list[str]:
        """Return a list separated by commas or line breaks; empty when unset."""
        return _split(self.text(name) or "", ",")

    def path(self, name: str) -> Path | None:
        """Return an absolute path, or None when unset."""
        value = self.text(name)
        return None if value is None else _absolute(name, value.strip())

    def paths(self, name: str) -> list[Path]:
        """Return absolute paths separated by colons or line breaks; empty when unset."""
        return [_absolute(name, value) for value in _split(self.text(name) or "", ":")]

    def validate(self) -> None:
        """Read every setting that is set, so that a wrong one is named before anything is started."""
        readers = {
            Kind.INTEGER: self.integer,
            Kind.SECONDS: self.integer,
            Kind.FLAG: self.flag,
            Kind.PATH: self.path,
            Kind.PATHS: self.paths,
            Kind.LIST: self.words,
            Kind.CHOICE: self.word,
            Kind.TEXT: self.text,
        }
        for setting in BY_NAME.values():
            if self.find(setting.name) is not None:
                readers[setting.kind](setting.name)

    def unknown_names(self) -> dict[str, str]:
        """Map each undeclared SYNCOVA_ name to the nearest declared one ("" when none is near)."""
        return {name: nearest_name(name) for name in sorted(self.variables) if not _is_declared(name)}

    def refuse_unknown(self) -> None:
        """Raise when an undeclared SYNCOVA_ name is set: most often a misspelled one."""
        for name, near in self.unknown_names().items():
            hint = f"Did you mean {near}?" if near else "See docs/settings.md for the names."
            raise ConfigurationError(f"Unknown setting {name} ({self.variables[name].origin}). {hint}")


def process_environment() -> Environment:
    """Return the SYNCOVA_ variables of this process alone; no settings file is read."""
    found = {name: Found(value, "environment") for name, value in os.environ.items() if name.startswith(PREFIX)}
    return Environment(found)


def load(data: Path | None = None) -> Environment:
    """Return the environment over the settings files, unknown names refused.

    Files: SYNCOVA_SETTINGS_FILE alone when set, else /etc/syncova/syncova.env over DATA/syncova.env.
    `data`: a data directory named on the command line, which wins over every other.
    """
    environment = process_environment()
    if data is not None:
        others = {name: found for name, found in environment.variables.items() if name != "SYNCOVA_DATA_DIR_FILE"}
        environment = Environment({**others, "SYNCOVA_DATA_DIR": Found(str(data), "--data")})
    chosen = environment.path("SYNCOVA_SETTINGS_FILE")
    if chosen is not None:
        environment = _over(environment, chosen, required=True)
    else:
        environment = _over(environment, SYSTEM_SETTINGS_FILE, required=False)
        environment = _over(environment, data_directory(environment) / SETTINGS_FILE_NAME, required=False)
    environment.refuse_unknown()
    return environment


def data_directory(environment: Environment) -> Path:
    """Return the data directory: the setting, else the place that fits the user of this process."""
    chosen = environment.path("SYNCOVA_DATA_DIR")
    if chosen is not None:
        return chosen
    if os.geteuid() == 0:
        return Path("/var/lib/syncova")
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "syncova"


def state_directory() -> Path | None:
    """Return where a user's programs remember what they have seen, or None for a user without a home."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if base.startswith("/"):
        return Path(base) / "syncova"
    with contextlib.suppress(RuntimeError):
        return Path.home() / ".local" / "state" / "syncova"
    return None


def text(name: str) -> str | None:
    """Return a declared setting from this process's environment (or its `…_FILE`), else its default."""
    return process_environment().text(name)


def foreign(name: str) -> str | None:
    """Return a variable that is not ours (HOME, NO_COLOR, LANG), or None."""
    return os.environ.get(name)


def foreign_secret(name: str) -> str | None:
    """Return a secret in a variable that is not ours, or in the file that its `…_FILE` form names, or None."""
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        return os.environ.get(name)
    if name in os.environ:
        raise ConfigurationError(f"{name} and {name}_FILE are both set.", hint="Keep one of them.")
    return _file_text(f"{name}_FILE", path)


def inherited(*, without_settings: bool = False) -> dict[str, str]:
    """Return a copy of this process's environment for a program that it starts; optionally without SYNCOVA_ names."""
    return {name: value for name, value in os.environ.items() if not (without_settings and name.startswith(PREFIX))}


def nearest_name(name: str) -> str:
    """Return the declared name (or its `…_FILE`) that is spelled most like `name`, or ""."""
    names = [*BY_NAME, *(f"{declared}_FILE" for declared in BY_NAME)]
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=0.7)), "")


def parse_settings_file(content: str, origin: str) -> dict[str, Found]:
    """Parse NAME=value lines; `#` starts a comment line, one pair of quotes round a value is taken off."""
    found: dict[str, Found] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name, separator, value = stripped.partition("=")
        name, value = name.strip(), value.strip()
        if not separator or not name.startswith(PREFIX):
            raise ConfigurationError(f"{origin}, line {number} is not a {PREFIX}NAME=value line.")
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        found[name] = Found(value, origin)
    return found


def _over(environment: Environment, path: Path, *, required: bool) -> Environment:
    try:
        content = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        if not required:
            return environment
        raise ConfigurationError(f"The settings file {path} does not exist.") from None
    except PermissionError:
        # A person without rights may still run programs that need none of these settings; what is missing then
        # is named by the setting that misses it.
        if not required:
            return environment
        raise ConfigurationError(f"The settings file {path} may not be read by this user.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The settings file {path} cannot be read: {error}.") from None
    merged = {
        name: found
        for name, found in parse_settings_file(content, str(path)).items()
        if not _overridden(name, environment)
    }
    return Environment({**merged, **environment.variables})


def _overridden(name: str, environment: Environment) -> bool:
    base = name.removesuffix("_FILE")
    return base in environment.variables or f"{base}_FILE" in environment.variables


def _declared(name: str) -> Setting:
    if name not in BY_NAME:
        raise KeyError(f"{name} is not declared in syncova_project/setting_table.py")
    return BY_NAME[name]


def _is_declared(name: str) -> bool:
    return name in BY_NAME or name.removesuffix("_FILE") in BY_NAME or name.startswith(FOREIGN_PREFIXES)


def _file_text(name: str, path: str) -> str:
    try:
        with _absolute(name, path).open("rb") as file:
            content = file.read(_FILE_LIMIT + 1)
        if len(content) > _FILE_LIMIT:
            raise ConfigurationError(f"{name}: {path} is larger than {_FILE_LIMIT} bytes; it holds no setting.")
        return content.decode("utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(
            f"{name}: {path} cannot be read: {reason}.", hint="Restore the file from a copy, or name another."
        ) from None


def _absolute(name: str, value: str) -> Path:
    if not value.startswith("/") or "\0" in value:
        raise _wrong(name, value, "an absolute path")
    return Path(value)


def _split(value: str, separator: str) -> list[str]:
    return [part.strip() for part in value.replace("\n", separator).split(separator) if part.strip()]


def _wrong(name: str, value: str, wanted: str) -> ConfigurationError:
    setting = BY_NAME.get(name.removesuffix("_FILE"))
    shown = "its value" if setting is not None and setting.secret else repr(value)
    return ConfigurationError(f"{name}: {shown} is not {wanted}.", hint=f"Set {name} to {wanted}.")


def use_settings_module() -> None:
    """Name this project's settings to Django where the caller's environment names none."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "syncova_project.settings")
