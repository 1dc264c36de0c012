"""What the first start makes and every later one keeps: keys, addresses, DATA/syncova.env, and the children's settings.

Owns which settings are ours and which the operator's: a name that the operator sets is never written.
"""

from collections.abc import Mapping
from pathlib import Path

from syncova_project import env
from syncova_project.embedded import keepsakes
from syncova_project.embedded.accounts import Account, can_read
from syncova_project.embedded.layout import Layout
from syncova_project.setting_table import CLIENT, MEDIA, TABLE

DATABASE, MIGRATION, BROKER = "SYNCOVA_DATABASE_URL", "SYNCOVA_MIGRATION_DATABASE_URL", "SYNCOVA_BROKER_URL"
# Setting → its file in DATA/secrets.
_FILES = {
    "SYNCOVA_DJANGO_KEY": "django_key",
    "SYNCOVA_SECRET_KEYS": "secret_keys",
    DATABASE: "database_url",
    MIGRATION: "migration_database_url",
    BROKER: "broker_url",
}
_RANDOM = ("SYNCOVA_DJANGO_KEY", "SYNCOVA_SECRET_KEYS")
_HEADER = "# `./syncova up` adds the lines that are missing; change or add others as docs/settings.md says.\n"
_SYSTEM_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ")


def is_operators(name: str, environment: env.Environment, layout: Layout) -> bool:
    """Tell whether the operator set this setting: then no server of ours stands behind it."""
    if name in environment.variables:
        return True
    indirect = environment.variables.get(f"{name}_FILE")
    return indirect is not None and indirect.value != str(_file_of(name, layout))


def keep_settings(
    layout: Layout, account: Account, environment: env.Environment, addresses: Mapping[str, str]
) -> env.Environment:
    """Make missing keys, write the embedded servers' addresses, and return the settings with both in them.

    `addresses`: of the servers that this start runs; none is given for the operator's own servers.
    """
    ours: dict[str, str] = {}
    for name, value in addresses.items():
        reader = None if name == MIGRATION else account
        keepsakes.write(_file_of(name, layout), value, reader=reader)
        ours[name] = str(_file_of(name, layout))
    for name in _RANDOM:
        if not is_operators(name, environment, layout):
            keepsakes.keep(layout.secrets, _FILES[name], reader=account)
            ours[name] = str(_file_of(name, layout))
    lines = {f"{name}_FILE": path for name, path in ours.items()}
    _add_lines(layout, account, lines)
    found = {name: env.Found(value, str(layout.settings_file)) for name, value in lines.items()}
    return env.Environment({**environment.variables, **found})


def child_variables(
    environment: env.Environment, layout: Layout, account: Account | None, *, migrating: bool = False
) -> dict[str, str]:
    """Return the whole environment of a child: exactly the settings of its starter, read from no other place.

    `account`: the service user, who gets only what it needs; None: the starter's own user. The address for
    migrations goes to migrations alone, and credentials of remote repositories to no service user: workers open them.
    """
    restricted = account is not None and account.switched
    variables = _system_variables(layout) if restricted else env.inherited(without_settings=True)
    for setting in TABLE:
        needless = (CLIENT, MEDIA) if restricted else (CLIENT,)
        if setting.section in needless or (setting.name == MIGRATION and not migrating):
            continue
        variables |= _passed_on(setting.name, environment, account if restricted else None)
    return variables | {
        # Below the data directory, where the next start finds what a killed process leaves.
        "TMPDIR": str(layout.scratch if restricted else layout.own_scratch),
        "SYNCOVA_DATA_DIR": str(layout.root),
        "SYNCOVA_SETTINGS_FILE": "/dev/null",
        "DJANGO_SETTINGS_MODULE": "syncova_project.settings",
    }


def _passed_on(name: str, environment: env.Environment, account: Account | None) -> dict[str, str]:
    direct, indirect = environment.variables.get(name), environment.variables.get(f"{name}_FILE")
    if direct is None and indirect is not None and (account is None or can_read(account, Path(indirect.value))):
        return {f"{name}_FILE": indirect.value}
    if direct is None and indirect is None:
        return {}
    return {name: environment.text(name) or ""}


def _system_variables(layout: Layout) -> dict[str, str]:
    kept = {name: value for name in _SYSTEM_VARIABLES if (value := env.foreign(name)) is not None}
    return {"PATH": "/usr/bin:/bin", **kept, "HOME": str(layout.scratch)}


def _add_lines(layout: Layout, account: Account, lines: Mapping[str, str]) -> None:
    path = layout.settings_file
    content = path.read_text(encoding="utf-8") if path.exists() else _HEADER
    present = env.parse_settings_file(content, str(path))
    # A moved data directory leaves our own lines pointing to the old place: those are written anew.
    kept = [line for line in content.splitlines() if line.partition("=")[0].strip() not in lines]
    stale = any(present[name].value != value for name, value in lines.items() if name in present)
    if stale or not set(lines) <= set(present):
        text = "\n".join([*kept, *(f"{name}={value}" for name, value in sorted(lines.items()))])
        keepsakes.write(path, text, reader=account)
    keepsakes.protect(path, account)


def _file_of(name: str, layout: Layout) -> Path:
    return layout.secrets / _FILES[name]
