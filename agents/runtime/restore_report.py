"""What `syncova-agent restore` prints: its plan, and what became of every object.

Owns the words. Paths come from the engine as shown text.
"""

from typing import Any

from repositories.console.terminal import Terminal
from repositories.engine.display import show_bytes, show_count

_ATTRIBUTES = {
    "owner": "the owner",
    "mode": "the mode",
    "special_bits": "setuid and setgid",
    "acl": "the access control list",
    "xattr": "extended attributes",
    "xattr_security": "extended attributes (security.*)",
    "xattr_system": "extended attributes (system.*)",
    "xattr_trusted": "extended attributes (trusted.*)",
    "times": "the time",
    "time_precision": "the fractions of the time",
    "hard_link": "the hard link",
}
_REFUSED = {
    "device": ("device", "could not be made"),
    "fifo": ("FIFO", "could not be made"),
    "link": ("symbolic link", "could not be made"),
    "name": ("name", "could not be given"),
    "file_size": ("file", "could not be as large"),
}
_SWAPPED = "not restored, somebody exchanged its directory in the target during the restore"
_FATES = (
    ("created", "would be made"),
    ("replaced", "would be replaced"),
    ("kept", "would be kept as it is, differs from the backup (see --overwrite)"),
    ("unknown", "cannot be looked at; the restore will try"),
    ("damaged", "would not be restored, damaged in the repository"),
)


def print_result(terminal: Terminal, result: dict[str, Any]) -> None:
    """Print what a restore did."""
    made = ", ".join(show_count(result[kind], kind.removesuffix("s")) for kind in ("files", "links"))
    terminal.line(
        f"restored {made}, {show_count(result['directories'], 'directory')} ({show_bytes(result['bytes'])} written) "
        f"of backup {result['short_id']} of {result['source']} into {result['target']}"
    )
    _print_lacking(terminal, result)
    if result["verified_files"]:
        terminal.line(f"  {show_count(result['verified_files'], 'file')} read back and compared")
    _print_existing(terminal, result)
    _print_paths(terminal, result, "damaged", "not restored, damaged in the repository")
    _print_paths(terminal, result, "swapped", _SWAPPED)
    _print_paths(terminal, result, "failed", "not restored")
    _print_paths(terminal, result, "kept", "kept as it is, differs from the backup (see --overwrite)")
    _print_collisions(terminal, result)
    if result["deletion"] is not None:
        _print_deletion(terminal, result["deletion"], "deleted")
    for shortfall in result["shortfalls"]:
        terminal.warning(_shortfall(shortfall))
    if result["unverified"]:
        terminal.warning(f"{show_count(result['unverified'], 'file')} could not be read back: closed by their own mode")


def print_plan(terminal: Terminal, plan: dict[str, Any]) -> None:
    """Print what a restore would do."""
    terminal.line(
        f"would restore backup {plan['short_id']} of {plan['source']} into {plan['target']}: "
        f"{plan['created']:,} to make ({show_bytes(plan['created_bytes'])}), "
        f"{plan['replaced']:,} to replace ({show_bytes(plan['replaced_bytes'])}), "
        f"{plan['existing']:,} there already, {plan['kept']:,} to keep"
    )
    _print_lacking(terminal, plan)
    for kind, meaning in _FATES:
        _print_paths(terminal, plan, kind, meaning)
    if plan["deletion"] is not None:
        print_deletion_plan(terminal, plan)
    terminal.line("nothing was changed: this was a dry run")


def print_deletion_plan(terminal: Terminal, plan: dict[str, Any]) -> None:
    """Print what would be deleted, and below what."""
    scope = ", ".join("all of it" if each["path"] == "." else each["path"] for each in plan["deletion"]["scope"])
    terminal.line(f"deleting looks into {plan['target']}: {scope}")
    _print_deletion(terminal, plan["deletion"], "to delete")


def _print_deletion(terminal: Terminal, deletion: dict[str, Any], what: str) -> None:
    if deletion["refused"]:
        terminal.warning(f"nothing is deleted: {deletion['refused']}")
        return
    terminal.line(f"  {what}: {show_count(deletion['deleted'], 'object')}, {show_bytes(deletion['deleted_bytes'])}")
    shown = 0
    for each in deletion["deleted_paths"]:
        shown += each["objects"]
        inside = f" (with {each['objects'] - 1:,} in it)" if each["objects"] > 1 else ""
        terminal.line(f"  {what}: {each['path']}{inside}")
    if deletion["deleted"] > shown:
        terminal.line(f"  {what}: {deletion['deleted'] - shown:,} more")
    _print_paths(terminal, deletion, "failed", "not deleted")
    _print_paths(terminal, deletion, "spared", "not in the backup, and stays")


def _print_lacking(terminal: Terminal, result: dict[str, Any]) -> None:
    """Say that the backup was partial: what it skipped is in no restore of it, whole as that may look."""
    if result["skipped_by_backup"]:
        lacking = show_count(result["skipped_by_backup"], "object")
        terminal.warning(
            f"the backup itself lacks {lacking} of the source, skipped when it was made: "
            f"syncova-repo show LOCATION {result['short_id']} names them"
        )


def _shortfall(shortfall: dict[str, Any]) -> str:
    """Return the one line about a class of objects on one file system."""
    kind, count = shortfall["class"], shortfall["count"]
    if kind in _REFUSED:
        noun, what = _REFUSED[kind]
        line = f"{show_count(count, noun)} {what}"
    else:
        line = f"{_ATTRIBUTES.get(kind, kind)} of {show_count(count, 'object')} could not be set"
    if shortfall["mount_point"]:
        line += f" on {shortfall['mount_point']} ({shortfall['file_system']})"
    example = shortfall["example"]["path"]
    return f"{line}: {shortfall['reason']}; " + (f"it is {example}" if count == 1 else f"one is {example}")


def _print_collisions(terminal: Terminal, result: dict[str, Any]) -> None:
    for each in result["collided_paths"]:
        terminal.line(f"  not restored, the target takes its name for that of {each['with']['path']}: {each['path']}")
    rest = result["collided"] - len(result["collided_paths"])
    if rest:
        terminal.line(f"  not restored, their names or those of directories above collide: {rest:,} more")


def _print_existing(terminal: Terminal, result: dict[str, Any]) -> None:
    identical = result["existing"] - result["not_compared"]
    if identical:
        terminal.line(f"  {show_count(identical, 'object')} there already and identical, not written again")
    if result["not_compared"]:
        terminal.line(
            f"  {show_count(result['not_compared'], 'file')} of equal size and time there already, "
            "whose content was not compared (see --verify)"
        )


def _print_paths(terminal: Terminal, result: dict[str, Any], kind: str, meaning: str) -> None:
    paths = result[f"{kind}_paths"]
    for path in paths:
        reason = f": {path['reason']}" if "reason" in path else ""
        terminal.line(f"  {meaning}: {path['path']}{reason}")
    if result[kind] > len(paths):
        terminal.line(f"  {meaning}: {result[kind] - len(paths):,} more")
