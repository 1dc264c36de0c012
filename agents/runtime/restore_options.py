"""What `syncova-agent restore` takes on its command line: names, types and help. Owns no behaviour."""

from dataclasses import dataclass
from typing import Annotated

from repositories.console.options import LongOptions, Option

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
    in_place: Annotated[
        bool, Option("--in-place", help="Restore where the source was, on the host that was backed up.")
    ] = False
    path: Annotated[
        tuple[str, ...], Option("--path", metavar="PATH", help="Only this and what is below it; repeatable.")
    ] = ()
    overwrite: Annotated[
        str, Option("--overwrite", metavar="|".join(OVERWRITE), help="What to do with what is there and differs.")
    ] = OVERWRITE[0]
    delete: Annotated[
        bool, Option("--delete", help="Delete what the backup does not hold, after showing it and asking.")
    ] = False
    yes: Annotated[bool, Option("--yes", "-y", help="Delete without asking; needed where no terminal is.")] = False
    verify: Annotated[bool, Option("--verify", help="Read the restored files back and compare them.")] = False
    dry_run: Annotated[
        bool, Option("--dry-run", "-n", help="Tell what would be made, replaced, kept and deleted; change nothing.")
    ] = False
    bandwidth: Annotated[
        str | None, Option("--bandwidth", metavar="RATE", help="Write no faster than this: 50MB, 1.5MB/s, 400Mbit.")
    ] = None
