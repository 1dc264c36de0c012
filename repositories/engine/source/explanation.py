"""Why a backup holds a path or not: the walk itself is asked, with nothing looked at but the way to that path.

Owns the answer's form. Decides nothing on its own, so that it cannot tell otherwise than a backup would do.
"""

import os
import stat
from dataclasses import dataclass

from repositories.engine.display import show_path
from repositories.engine.errors import ConfigurationError, SourceMissingError
from repositories.engine.manifest.entries import entry_type
from repositories.engine.manifest.problems import REGULAR_FILE, SEVERITIES, ProblemKind, Severity, classify, reason_of
from repositories.engine.source.directory import Directory
from repositories.engine.source.excludes import Explanation
from repositories.engine.source.files import open_regular
from repositories.engine.source.root import SourceRoot, open_root
from repositories.engine.source.walker import Walker, WalkRules

Met = tuple[ProblemKind, bytes, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`kind` is None for what is in, else why it is not; that was decided at `decided_at`, the path or one above it.

    `rule` is the rule that decides about the path itself, or leaves out a directory above. `contents` tells why a
    directory that is in is kept without what lies in it. What does not exist (`exists`) is judged by its name.
    """

    kind: ProblemKind | None
    decided_at: bytes
    rule: Explanation
    exists: bool = True
    contents: ProblemKind | None = None
    detail: str = ""

    @property
    def skipped(self) -> bool:
        """Whether the path belongs into the backup, but could not be taken."""
        return self.kind is not None and SEVERITIES[self.kind] is Severity.SKIPPED


def explain(root: bytes, path: bytes, rules: WalkRules) -> Verdict:
    """Return what a backup of `root` under `rules` would do with `path`, which is absolute or relative to `root`.

    Raises ConfigurationError for a path outside the source, and what a backup would raise for the source as a whole;
    a source that does not exist has its paths judged by the rules alone. Opens files, reads none but tags of caches.
    """
    relative = _relative(root, path)
    slash = path.endswith(b"/")
    try:
        opened = open_root(root, rules.own)
    except SourceMissingError:
        return _by_name(relative, rules, is_directory=slash)
    if opened.only is not None:
        # The entry of a single file has the file's own name.
        wanted = opened.only if not relative else opened.only + b"/" + relative
        return _Look(opened, rules, wanted).verdict(is_directory=slash)
    return _Look(opened, rules, relative).verdict(is_directory=slash)


class _Look:
    """One walk along the way to one path."""

    def __init__(self, root: SourceRoot, rules: WalkRules, wanted: bytes) -> None:
        self._rules = rules
        self._wanted = wanted
        self._met: list[Met] = []
        self._found: os.stat_result | None = None
        self._unreadable: Met | None = None
        self._walker = Walker(root, rules, self._report, self._choose)

    def verdict(self, *, is_directory: bool) -> Verdict:
        """Walk, and return the answer; closes the root."""
        try:
            for directory in self._walker.directories():
                for name, status in directory.items():
                    self._take(directory, name, status)
        finally:
            self._walker.close()
        if not self._wanted or self._found is not None:
            return self._met_itself()
        # The last one: a cache's tag is looked at although what else lies there is not.
        if self._met and self._met[-1][0] is not ProblemKind.VANISHED:
            kind, at, detail = self._met[-1]
            if kind is ProblemKind.EXCLUDED:
                number = int(detail)
                return Verdict(kind, at, Explanation(at, self._rules.excludes.text(number), number, excluded=True))
            return Verdict(kind, at, Explanation(at), detail=detail)
        return _by_name(self._wanted, self._rules, is_directory=is_directory)

    def _met_itself(self) -> Verdict:
        wanted, found = self._wanted, self._found
        directory = found is None or stat.S_ISDIR(found.st_mode)
        rule = self._rules.excludes.explain(wanted, is_directory=directory) if wanted else Explanation(b"")
        if self._unreadable is not None:
            kind, at, detail = self._unreadable
            return Verdict(kind, at, rule, detail=detail)
        if found is not None and entry_type(found.st_mode) is None:
            socket = stat.S_ISSOCK(found.st_mode)
            return Verdict(ProblemKind.SOCKET if socket else ProblemKind.UNKNOWN_TYPE, wanted, rule)
        below = [(kind, detail) for kind, at, detail in self._met if at == wanted and directory]
        contents, detail = below[0] if below else (None, "")
        return Verdict(None, wanted, rule, contents=contents, detail=detail)

    def _take(self, directory: Directory, name: bytes, status: os.stat_result) -> None:
        if directory.join(name) != self._wanted:
            return
        self._found = status
        if not stat.S_ISREG(status.st_mode):
            return
        try:
            os.close(open_regular(name, directory.descriptor)[0])
        except OSError as error:
            # Nothing in it to be read: it is in, whole.
            if status.st_size or not isinstance(error, PermissionError):
                self._unreadable = (classify(error), self._wanted, reason_of(error, REGULAR_FILE))

    def _choose(self, directory: bytes, names: list[bytes]) -> list[bytes]:
        """Of the names in a directory on the way, the one that leads on."""
        above = directory + b"/" if directory else b""
        if directory == self._wanted or not self._wanted.startswith(above):
            return []
        onward = self._wanted[len(above) :].partition(b"/")[0]
        return [name for name in names if name == onward]

    def _report(self, kind: ProblemKind, path: bytes, detail: str) -> None:
        self._met.append((kind, path, detail))


def _by_name(wanted: bytes, rules: WalkRules, *, is_directory: bool) -> Verdict:
    rule = rules.excludes.explain(wanted, is_directory=is_directory) if wanted else Explanation(b"")
    return Verdict(ProblemKind.EXCLUDED if rule.excluded else None, rule.decided_at, rule, exists=False)


def _relative(root: bytes, path: bytes) -> bytes:
    full = path if path.startswith(b"/") else os.path.join(root, path)
    relative = os.path.relpath(os.path.normpath(full), os.path.normpath(root))
    if relative == b".." or relative.startswith(b"../"):
        raise ConfigurationError(
            f"{show_path(path)} lies outside the source {show_path(root)}", hint="give a path below the source"
        )
    return b"" if relative == b"." else relative
