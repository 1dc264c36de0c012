"""`syncova-repo tag`: give tags to backups, take them away, leave a note."""

from dataclasses import dataclass
from typing import Annotated

from repositories.cli.arguments import LOCATION_RULE
from repositories.cli.naming import split_ids
from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import Argument, Option, RepositoryOptions
from repositories.console.repository_access import open_here
from repositories.console.terminal import terminal_of
from repositories.engine.display import show_text

NAME = "tag"
HELP = (
    "Give tags to backups, take them away, leave a note; prints what is said of each then. Keep rules can go by tags. "
    f"BACKUP is an id, any unique part of it, or latest. {LOCATION_RULE}"
)
EXAMPLES = (
    "tag /mnt/backups/home latest --add before-upgrade",
    "tag -r /mnt/backups/home 3fa2b1c0 9d01aa37 --remove weekly --note 'moved to the archive' --json",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RepositoryOptions):
    """What `tag` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="[LOCATION] BACKUP…", hidden=True)] = ()
    add: Annotated[tuple[str, ...], Option("--add", metavar="TAG", help="Give this tag; repeatable.")] = ()
    remove: Annotated[tuple[str, ...], Option("--remove", metavar="TAG", help="Take it away; repeatable.")] = ()
    note: Annotated[
        str | None, Option("--note", metavar="TEXT", help="Leave this note instead of earlier ones; empty: none.")
    ] = None
    source: Annotated[str | None, Option("--source", metavar="NAME", help="Only backups of this source.")] = None


def run(options: Options) -> int:
    """Change the labels of each backup and print what is said of it then."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.forgetting import LabelChange, change_labels, require_sensible
    from repositories.engine.manifest.backups import find_backup
    from repositories.engine.process.forget_fields import name_fields
    from repositories.engine.process.label_fields import label_fields, said_now

    terminal = terminal_of(options)
    location, ids = split_ids(options.words, options)
    if not ids:
        raise CommandError("BACKUP is missing", hint="see --help")
    change = LabelChange(options.add, options.remove, options.note)
    if change == LabelChange():
        raise CommandError("no change is given", hint="give --add, --remove or --note; show tells what is said now")
    require_sensible(change)
    repository = open_here(location, options, terminal, writes=True)
    backups = [find_backup(repository, each, options.source) for each in ids]
    before = said_now(repository)
    for backup in backups:
        had = label_fields(backup, before)["tags"]
        for tag in (each for each in options.remove if show_text(each) not in had):
            terminal.note(f"backup {backup.short_id} had no tag {show_text(tag)}: nothing was taken away")
        change_labels(repository, backup, change)
    said = said_now(repository)
    labelled = [{**name_fields(backup), **label_fields(backup, said)} for backup in backups]
    for each in labelled:
        notes = "".join(f"; note: {remark['text']}" for remark in each["remarks"])
        terminal.line(f"{each['short_id']}  tags: {', '.join(each['tags']) or 'none'}{notes}")
    terminal.document({"backups": labelled})
    return exits.DONE
