"""docs/settings.md as text, made from the declared settings; pure."""

from syncova_project.setting_table import TABLE, Kind, Setting

_INTRODUCTION = """\
# Settings

Made by `./syncova manage show_settings --markdown` from the readers themselves; a test keeps this page in step.

Every setting is an environment variable. Where a name is not set in the environment it is read from the file that
`SYNCOVA_SETTINGS_FILE` names, else from `/etc/syncova/syncova.env`, else from `syncova.env` in the data directory
(lines `NAME=value`, `#` starts a comment). Each name also exists as `NAME_FILE`: the path of a file that holds the
value. Setting both in one place is an error, and so is a `SYNCOVA_` name that is not on this page.

`./syncova manage show_settings` prints each value and where it comes from; secrets are masked. No secret has a
default: `./syncova up` makes random ones on its first start and keeps them in `secrets/` of the data directory.
"""


def render() -> str:
    """Return the whole page."""
    sections = list(dict.fromkeys(setting.section for setting in TABLE))
    return "\n".join([_INTRODUCTION, *(_section(name) for name in sections)])


def _section(name: str) -> str:
    lines = [f"## {name}", "", "| Name | Kind | Default | Meaning |", "| --- | --- | --- | --- |"]
    lines += [_row(setting) for setting in TABLE if setting.section == name]
    return "\n".join(lines) + "\n"


def _row(setting: Setting) -> str:
    default = "" if setting.default is None else f"`{setting.default}`"
    return f"| `{setting.name}` | {_kind(setting)} | {default} | {setting.meaning.replace('|', chr(92) + '|')} |"


def _kind(setting: Setting) -> str:
    kind = str(setting.kind)
    if setting.kind is Kind.CHOICE:
        kind = f"one of {', '.join(setting.choices)}"
    if setting.minimum is not None and setting.maximum is not None:
        kind = f"{kind}, {setting.minimum} to {setting.maximum}"
    return f"{kind}; secret" if setting.secret else kind
