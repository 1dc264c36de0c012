"""`syncova-agent explain`: whether a backup would hold a path, and which exclude rule or what else decides."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from repositories.console import exits
from repositories.console.failures import CommandError
from repositories.console.options import Argument, Option, OutputOptions
from repositories.console.paths import GivenRule, absolute, exclude_rules, misplaced
from repositories.console.repository_access import VARIABLE, own_data, own_paths, resolve
from repositories.console.terminal import terminal_of
from repositories.engine.display import path_fields, show_path, show_text
from repositories.engine.manifest.problems import ProblemKind
from syncova_project import env

if TYPE_CHECKING:
    from repositories.engine.source.explanation import Verdict
    from repositories.engine.source.walker import WalkRules

NAME = "explain"
HELP = "Tell whether a backup of ROOT would hold PATH, and why not: the exclude rule that decides, or what else."
EXAMPLES = (
    "explain --path /srv/www/cache/a.tmp --exclude '*.tmp' --exclude '!keep.tmp' /srv",
    "explain --path www/cache --exclude-file ~/.backup-excludes /srv --json",
)
_STATES = {False: "out", True: "skipped"}
_WORDS = {
    ProblemKind.CACHE_DIRECTORY: "{at} is tagged as a cache by its CACHEDIR.TAG",
    ProblemKind.OTHER_FILE_SYSTEM: "another file system begins at {at}, and --one-file-system is given",
    ProblemKind.PSEUDO_FILE_SYSTEM: "{at} is on a file system that the kernel makes up",
    ProblemKind.OWN_DATA: "{at} is the repository or Syncova's own data",
    ProblemKind.SOCKET: "a socket holds nothing that a backup could keep",
    ProblemKind.UNKNOWN_TYPE: "it is of a type that no backup knows",
    ProblemKind.PATH_TOO_LONG: "its name or path is longer than a backup holds: {detail}",
    ProblemKind.VANISHED: "it has just vanished",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(OutputOptions):
    """What `explain` takes."""

    words: Annotated[tuple[str, ...], Argument(metavar="ROOT", hidden=True)] = ()
    path: Annotated[
        str | None, Option("--path", metavar="PATH", help="The path in question: absolute, or relative to ROOT.")
    ] = None
    exclude: Annotated[
        tuple[str, ...], Option("--exclude", metavar="RULE", help="An exclude rule (gitignore); repeatable.")
    ] = ()
    exclude_file: Annotated[
        tuple[str, ...], Option("--exclude-file", metavar="FILE", help="Rules from a file, one a line; repeatable.")
    ] = ()
    exclude_ignore_case: Annotated[
        bool, Option("--exclude-ignore-case", help="Upper and lower case count as equal in all rules.")
    ] = False
    exclude_caches: Annotated[
        bool, Option("--exclude-caches", help="Of directories with a CACHEDIR.TAG only the tag is kept.")
    ] = False
    one_file_system: Annotated[bool, Option("--one-file-system", help="Enter no other file system.")] = False
    repository: Annotated[
        str | None,
        Option("--repository", "-r", metavar="LOCATION", help="The repository, which no backup holds; not opened."),
    ] = None


def run(options: Options) -> int:
    """Print what a backup would do with the path, and why."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.source.explanation import explain

    terminal = terminal_of(options)
    if options.path is None or len(options.words) != 1:
        raise CommandError("explain takes --path PATH and one ROOT", hint="see --help")
    if not options.path:
        raise CommandError("--path is empty", hint="give a path; . is the root itself")
    root = absolute(options.words[0], "ROOT")
    path = os.fsencode(options.path)
    rules = exclude_rules(options.exclude, options.exclude_file)
    for sentence in misplaced(rules, [root]):
        terminal.warning(sentence)
    verdict = explain(root, path, _walk_rules(options, rules))
    terminal.line(f"{show_path(path)} {_sentence(verdict, rules)}")
    terminal.document({**path_fields(path), **_fields(verdict, rules)})
    return exits.DONE


def _walk_rules(options: Options, rules: Sequence[GivenRule]) -> "WalkRules":
    from repositories.engine.source.excludes import ExcludeRules
    from repositories.engine.source.filesystems import FileSystems
    from repositories.engine.source.root import identities
    from repositories.engine.source.walker import WalkRules

    location = options.repository if options.repository is not None else env.text(VARIABLE)
    own = own_data() if location is None else own_paths(resolve(location))
    return WalkRules(
        ExcludeRules([rule.text for rule in rules], ignoring_case=options.exclude_ignore_case),
        options.one_file_system,
        identities(own),
        FileSystems(),
        options.exclude_caches,
    )


def _fields(verdict: "Verdict", rules: Sequence[GivenRule]) -> dict[str, Any]:
    number = verdict.rule.rule_number
    origin = None if number is None else rules[number - 1]
    return {
        "exists": verdict.exists,
        "state": "in" if verdict.kind is None else _STATES[verdict.skipped],
        "excluded": verdict.kind is not None and not verdict.skipped,
        "reason": verdict.kind and str(verdict.kind),
        "detail": show_text(verdict.detail),
        "contents": verdict.contents and str(verdict.contents),
        "rule": None if verdict.rule.rule is None else show_text(verdict.rule.rule),
        "rule_number": number,
        "rule_origin": None
        if origin is None
        else {"file": None if origin.file is None else show_text(origin.file), "line": origin.line},
        "decided_at": path_fields(verdict.decided_at),
    }


def _sentence(verdict: "Verdict", rules: Sequence[GivenRule]) -> str:
    if verdict.skipped:
        return f"is skipped: {_reason(verdict, verdict.kind)}"
    if verdict.kind is not None and verdict.kind is not ProblemKind.EXCLUDED:
        return f"is left out: {_reason(verdict, verdict.kind)}"
    rule = _rule(verdict, rules)
    if verdict.kind is ProblemKind.EXCLUDED:
        return f"is left out: {rule}"
    if not verdict.exists:
        return f"does not exist; it would be backed up: {rule}"
    if verdict.contents is not None:
        return f"is backed up, but not what lies in it: {_reason(verdict, verdict.contents)}"
    return f"is backed up: {rule}"


def _reason(verdict: "Verdict", kind: ProblemKind | None) -> str:
    words = "{at} cannot be read: {detail}" if kind is None else _WORDS.get(kind, "{at} cannot be read: {detail}")
    return words.format(at=show_path(verdict.decided_at or b"."), detail=show_text(verdict.detail))


def _rule(verdict: "Verdict", rules: Sequence[GivenRule]) -> str:
    found = verdict.rule
    if found.rule is None or found.rule_number is None:
        return "no rule matches it"
    given = rules[found.rule_number - 1]
    place = "" if given.file is None else f" ({given.origin})"
    return f"rule {found.rule_number}, {show_text(found.rule)}{place}, matches {show_path(found.decided_at)}"
