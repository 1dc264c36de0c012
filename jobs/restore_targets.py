"""Where restores may write: below the roots that the executing machine allows (execution.md, section 3). Pure.

Owns the rule. It is asked when a restore is requested and, with links resolved, where it runs: a root says what an
installation gives to everybody who may restore, so it is never a guess.
"""

from collections.abc import Sequence

from jobs.source_paths import lies_in


def refusal(target: bytes, roots: Sequence[bytes], own_data: Sequence[bytes]) -> str | None:
    """Return why nothing may be restored into a normalised path, None when it may.

    Our own data is no target, but for a root that was set inside it; a root itself is none, for what lies in it
    belongs to other restores.
    """
    holding = [root for root in roots if lies_in(target, root)]
    if not holding:
        return "lies outside the directories that this worker group may restore into (SYNCOVA_RESTORE_ROOTS)."
    if all(target == (root.rstrip(b"/") or b"/") for root in holding):
        return "is a root of restores itself: name a directory below it."
    own = [each for each in own_data if lies_in(target, each)]
    if own and not any(lies_in(root, each) for each in own for root in holding):
        return "lies in Syncova's own data."
    return None
