"""What a walk of a source leaves out, from what the source asks for. Owns the translation alone."""

from repositories.engine.backup.options import SourceSpec
from repositories.engine.source.excludes import ExcludeRules
from repositories.engine.source.filesystems import FileSystems
from repositories.engine.source.root import identities
from repositories.engine.source.walker import WalkRules


def walk_rules(source: SourceSpec) -> WalkRules:
    """Return the rules of a walk of `source`; raises ConfigurationError for a bad exclude rule."""
    return WalkRules(
        ExcludeRules(source.excludes, ignoring_case=source.exclude_ignoring_case),
        source.one_file_system,
        identities(source.skip_paths),
        FileSystems(),
        source.exclude_caches,
    )
