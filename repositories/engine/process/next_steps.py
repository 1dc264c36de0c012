"""What to do about what a check has found. Owns the words alone; the ids in them can be given to the commands."""

from repositories.engine.check import CheckReport
from repositories.engine.ids import short_id

_MEND = "repair the repository: syncova-repo repair LOCATION; then check again"
_NAMED = 3


def next_step(report: CheckReport) -> str:
    """Return what to do now; empty when all is well."""
    kinds = {problem.kind for problem in report.problems}
    if "rollback" in kinds:
        return "find out who put an older state there; if it is as it should be: check again with --accept-rollback"
    if "inventory" in kinds:
        return "bring the inventory back from a copy of the repository, then check again: only then all can be checked"
    # Without a sweep it is not known what is lost rightly.
    if kinds & {"index", "sweep"}:
        return _MEND
    if report.problem_count and report.problem_count == sum(each.barred for each in report.suspect):
        return "check again as a user who may read all of the repository: nothing is known to be damaged"
    steps: list[str] = []
    if kinds & {"pack", "chunk"}:
        steps.append(_heal(report))
    lost = [problem.object for problem in report.problems if problem.kind == "manifest"]
    if lost:
        steps.append(
            f"bring the lost manifests back from a copy of the repository, then check again; if there is none, "
            f"{_give_up(lost)}"
        )
    if steps:
        return "; ".join(steps)
    return _MEND if kinds else ""


def _heal(report: CheckReport) -> str:
    if not report.remembered:
        return "check again where the repository can be written to: damage must be remembered to be stored anew"
    step = "it is remembered; back up the sources again: what they still have is stored anew; then check again"
    if not report.hurt:
        return step
    return f"{step}; what they no longer have is lost: {_give_up([short_id(each.backup_id) for each in report.hurt])}"


def _give_up(names: list[str]) -> str:
    """Return how to end with backups that nothing brings back."""
    more = " …" if len(names) > _NAMED else ""
    return f"syncova-repo forget LOCATION {' '.join(names[:_NAMED])}{more}, then prune"
