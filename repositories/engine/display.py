r"""How names, sizes and durations are shown to people: the one function that shows a path.

Names on disk are bytes that an attacker may have chosen. Shown text holds no control, direction or invisible
character and no line break; it is plain text and must never be handed to anything that reads markup.
The escapes are reversible: `\\`, `\xNN` for one byte, `\uNNNN` and `\UNNNNNNNN` for one character.
"""

import base64
import datetime as dt
from collections.abc import Sequence

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PLAIN = bytes(code for code in range(0x20, 0x7F) if code != ord("\\"))
_SIZES = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def show_path(path: bytes) -> str:
    """Return `path` as text that is safe on a terminal, in a log line and in HTML-escaped pages."""
    if path.isascii() and b"\\" not in path:
        text = path.decode("ascii")
        if text.isprintable():
            return text
    return "".join(map(_show_character, path.decode("utf-8", "surrogateescape")))


def show_names(directory: bytes, names: Sequence[bytes]) -> str:
    """Return the paths of names in a directory ("" for none), a line each, as `show_path` shows them."""
    prefix = directory + b"/" if directory else b""
    joined = b"\n".join(names)
    # Nothing but plain characters and a line break between any two.
    if len(joined.translate(None, _PLAIN)) == joined.count(b"\n") == len(names) - 1:
        shown = show_path(prefix)
        lines = joined.decode("ascii")
        return shown + lines.replace("\n", f"\n{shown}") if shown else lines
    return "\n".join(show_path(prefix + name) for name in names)


def show_text(text: str) -> str:
    """Return foreign text (a label, a host, a tag) as safe as `show_path` does for names.

    Unlike a path it need not be read back: text without anything to escape stays as it is.
    """
    if text.isprintable():
        return text
    return "".join(map(_show_character, text))


def path_fields(path: bytes) -> dict[str, str]:
    """Return a path's JSON fields: `path`, and `path_base64` only where the former is not the exact name."""
    shown = show_path(path)
    if shown.encode("utf-8") == path:
        return {"path": shown}
    return {"path": shown, "path_base64": base64.b64encode(path).decode("ascii")}


def show_bytes(count: int) -> str:
    """Return a size in binary units with three digits that matter: `0 B`, `1.50 MiB`."""
    if count < 1024:
        return f"{count} B"
    value = count / 1024
    unit = 0
    while value >= 999.5 and unit < len(_SIZES) - 1:
        value /= 1024
        unit += 1
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {_SIZES[unit]}"


def show_count(count: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `1,234 directories`, `2 keys`."""
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count:,} {noun}"


def show_duration(seconds: float) -> str:
    """Return a length of time as people write it: `0.4 s`, `3 min 05 s`, `2 h 07 min`."""
    if seconds < 59.95:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def show_time(ns: int) -> str:
    """Return nanoseconds since the epoch as `2026-11-30 08:51:05 UTC`."""
    moment = _moment(ns)
    return f"{ns} ns" if moment is None else f"{moment.isoformat(' ', 'seconds')[:19]} UTC"


def time_field(ns: int) -> str:
    """Return nanoseconds since the epoch as JSON carries them: `2026-11-30T08:51:05.123456Z`."""
    moment = _moment(ns)
    return f"{ns} ns" if moment is None else f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"


def _moment(ns: int) -> dt.datetime | None:
    # Stored times may be anything, also years that no calendar of the library reaches.
    try:
        return _EPOCH + dt.timedelta(microseconds=ns // 1000)
    except OverflowError:
        return None


def _show_character(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
