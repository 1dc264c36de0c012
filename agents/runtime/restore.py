"""`syncova-agent restore`: bring a backup, or a part of it, back into a directory."""

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from repositories.console.engine_run import run_engine
from repositories.console.failures import CommandError
from repositories.console.options import LongOptions
from repositories.console.paths import absolute
from repositories.console.progress_view import choose_view
from repositories.console.repository_access import access, split_location
from repositories.console.terminal import Terminal, terminal_of
from repositories.console.times import parse_moment
from repositories.engine.display import show_bytes, show_count
from repositories.engine.process.requests import Request, RestoreOrder
from repositories.engine.throttle import parse_rate
from syncova_project import clock

NAME = "restore"
HELP = (
    "Restore a backup into a directory. The source's contents land directly in it. What is there already and "
    "differs is kept and counted, unless --overwrite says otherwise."
)
EXAMPLES = (
    "restore -r /mnt/backups/home --backup latest --target /tmp/home",
    "restore -r /mnt/backups/home --at '2026-11-29 18:00' --source laptop:/home --path documents --target /tmp/docs",
)
_ATTRIBUTES = {
    "special_bits": "setuid and setgid",
    "acl": "the access control list",
    "xattr": "extended attributes",
    "times": "the exact time",
    "hard_link": "the hard link",
}
OVERWRITE = ("never", "if-newer", "if-changed", "always")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LongOptions):
    """What `restore` takes."""

    backup: Annotated[
        str | None, Option("--backup", metavar="ID", help="Which backup: an id, a unique part of it, or latest.")
    ] = None
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None
    at: Annotated[
        str | None, Option("--at", metavar="TIME", help="The newest backup at or before this time (UTC if no zone).")
    ] = None
    target: Annotated[str | None, Option("--target", metavar="DIR", help="Directory to restore into.")] = None
    path: Annotated[
        tuple[str, ...], Option("--path", metavar="PATH", help="Only this and what is below it; repeatable.")
    ] = ()
    overwrite: Annotated[
        str, Option("--overwrite", metavar="|".join(OVERWRITE), help="What to do with what is there and differs.")
    ] = OVERWRITE[0]
    verify: Annotated[bool, Option("--verify", help="Read the restored files back and compare them.")] = False
    bandwidth: Annotated[
        str | None, Option("--bandwidth", metavar="RATE", help="Write no faster than this: 50MB, 1.5MB/s, 400Mbit.")
    ] = None


def run(options: Options) -> int:
    """Restore in an engine child and print what became of it."""
    terminal = terminal_of(options)
    order = _order(options)
    rate = None if options.bandwidth is None else parse_rate(options.bandwidth)
    location, _ = split_location((), options)
    view = choose_view(options.progress, terminal, clock.monotonic)
    request = Request(
        operation="restore",
        repository=access(location, options, terminal),
        bandwidth_bytes_per_second=rate,
        restore=order,
    )
    result = run_engine(request, view, terminal).result
    _print(terminal, result)
    terminal.document(result)
    return int(result["exit_code"])


def _order(options: Options) -> RestoreOrder:
    if options.target is None:
        raise CommandError("--target is missing", hint="say where to: --target DIR")
    if options.backup is None and options.at is None:
        raise CommandError("--backup is missing", hint="give an id from `syncova-repo list`, or latest")
    if options.overwrite not in OVERWRITE:
        raise CommandError(f"--overwrite takes {', '.join(OVERWRITE)}", hint="see --help")
    if "" in options.path:
        raise CommandError("--path is empty", hint="give a path of the backup; . is all of it")
    return RestoreOrder(
        backup=options.backup or "latest",
        source=options.source,
        at_ns=None if options.at is None else parse_moment(options.at),
        target=absolute(options.target, "--target"),
        paths=tuple(path.encode("utf-8", "surrogateescape") for path in options.path),
        overwrite=options.overwrite,
        verify=options.verify,
    )


def _print(terminal: Terminal, result: dict[str, Any]) -> None:
    made = ", ".join(show_count(result[kind], kind.removesuffix("s")) for kind in ("files", "links"))
    terminal.line(
        f"restored {made}, {show_count(result['directories'], 'directory')} ({show_bytes(result['bytes'])} written) "
        f"of backup {result['short_id']} of {result['source']} into {result['target']}"
    )
    if result["verified_files"]:
        terminal.line(f"  {show_count(result['verified_files'], 'file')} read back and compared")
    _print_existing(terminal, result)
    _print_paths(terminal, result, "damaged", "not restored, damaged in the repository")
    _print_paths(terminal, result, "failed", "not restored")
    _print_paths(terminal, result, "kept", "kept as it is, differs from the backup (see --overwrite)")
    for kind, count in result["warnings"].items():
        terminal.warning(f"{_ATTRIBUTES.get(kind, kind)} of {show_count(count, 'object')} could not be set")
    if result["unverified"]:
        terminal.warning(f"{show_count(result['unverified'], 'file')} could not be read back: closed by their own mode")


def _print_existing(terminal: Terminal, result: dict[str, Any]) -> None:
    identical = result["existing"] - result["not_compared"]
    if identical:
        terminal.line(f"  {identical:,} were there already and identical")
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
