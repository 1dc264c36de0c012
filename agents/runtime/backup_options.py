"""What `syncova-agent backup` takes on its command line: names, types and help. Owns no behaviour."""

from dataclasses import dataclass
from typing import Annotated

from repositories.console.options import Argument, LongOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LongOptions):
    """What `backup` takes."""

    path: Annotated[tuple[str, ...], Option("--path", metavar="PATH", help="What to back up; repeatable.")] = ()
    device: Annotated[
        tuple[str, ...],
        Option("--device", metavar="DEVICE", help="A block device to back up as one image; repeatable."),
    ] = ()
    stdin: Annotated[
        str | None,
        Option("--stdin", metavar="NAME", help="Back up as file NAME what COMMAND prints; fails if it does."),
    ] = None
    command: Annotated[tuple[str, ...], Argument(metavar="[-- COMMAND...]", hidden=True)] = ()
    source: Annotated[
        str | None, Option("--source", metavar="NAME", help="Name of the source. Default: <host name>:<absolute path>.")
    ] = None
    parent: Annotated[
        str | None, Option("--parent", metavar="ID", help="Compare with this backup, not the source's newest.")
    ] = None
    tag: Annotated[tuple[str, ...], Option("--tag", metavar="TAG", help="Tag of the backup; repeatable.")] = ()
    exclude: Annotated[
        tuple[str, ...], Option("--exclude", metavar="RULE", help="Leave out what matches (gitignore); repeatable.")
    ] = ()
    exclude_file: Annotated[
        tuple[str, ...], Option("--exclude-file", metavar="FILE", help="Rules from a file, one a line; repeatable.")
    ] = ()
    exclude_ignore_case: Annotated[
        bool, Option("--exclude-ignore-case", help="Upper and lower case count as equal in all rules.")
    ] = False
    exclude_caches: Annotated[
        bool, Option("--exclude-caches", help="Of directories with a CACHEDIR.TAG keep the tag only.")
    ] = False
    one_file_system: Annotated[bool, Option("--one-file-system", help="Enter no other file system.")] = False
    ignore_inode: Annotated[
        bool, Option("--ignore-inode", help="A changed inode alone is no change (some network file systems).")
    ] = False
    ignore_ctime: Annotated[bool, Option("--ignore-ctime", help="A changed ctime alone is no change.")] = False
    reread: Annotated[
        int,
        Option("--reread", metavar="PERCENT", min=0, max=100, help="Read this part of what seems unchanged, too."),
    ] = 0
    bandwidth: Annotated[
        str | None, Option("--bandwidth", metavar="RATE", help="Read no faster than this: 50MB, 1.5MB/s, 400Mbit.")
    ] = None
    write_limit: Annotated[
        str | None,
        Option("--write-limit", metavar="RATE", help="Send no faster than this to a remote repository: 2MB, 20Mbit."),
    ] = None
    compression: Annotated[str, Option("--compression", metavar="fast|default|max|off", help="How hard to try.")] = (
        "default"
    )
    accept_new_root: Annotated[
        bool, Option("--accept-new-root", help="Back it up although it is empty, or not mounted any more.")
    ] = False
    dry_run: Annotated[
        bool, Option("--dry-run", "-n", help="Tell what would be read and left out; write nothing, read no content.")
    ] = False
    strict: Annotated[bool, Option("--strict", help="Count warnings as skipped: exit code 3.")] = False
