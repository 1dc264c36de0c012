"""What to do about what a check has found. Owns the words alone; the ids in them can be given to the commands."""

from repositories.engine.check import CheckReport
from repositories.engine.format.kinds import COPIES
from repositories.engine.ids import short_id

_MEND = "repair the repository: syncova-repo repair LOCATION; then check again"
_NAMED = 3


def next_step(report: CheckReport) -> str:
    """Return what to do now; empty when all is well."""
    kinds = {problem.kind for problem in report.problems}
    lost = [problem.object for problem in report.problems if problem.kind == "manifest"]
    if "rollback" in kinds:
        return _confirm(lost)
    if "inventory" in kinds:
        return "bring the inventory back from a copy of the repository, then check again: only then all can be checked"
    # Without a sweep it is not known what is lost rightly.
    if kinds & {"index", "sweep"}:
        return _MEND
    if report.problem_count and report.problem_count == sum(each.barred for each in report.suspect):
        return "check again as a user who may read all of the repository: nothing is known to be damaged"
    return "; ".join(_steps(report, lost))


def _steps(report: CheckReport, lost: list[str]) -> list[str]:
    """Return the steps where the structure is whole enough to know what is lost."""
    keys = [problem.object for problem in report.problems if problem.kind == "keyring" and "/" in problem.object]
    kinds = {each.kind for each in report.problems if each.object.removeprefix(COPIES) not in keys}
    steps: list[str] = []
    if kinds & {"pack", "chunk"}:
        steps.append(_heal(report))
    if lost:
        steps.append(
            f"bring the lost manifests back from a copy of the repository, then check again; if there is none, "
            f"{_give_up(lost)}"
        )
    if kinds and not steps:
        steps.append(_MEND)
    if keys:
        steps.append(_replace_keys(keys))
    return steps


def _confirm(lost: list[str]) -> str:
    """Return how to go on from an earlier state: what loses nothing comes first."""
    then = f"; then {_give_up(lost)}" if lost else ""
    return (
        "bring what is missing back from a copy of the repository (of a manifest both files, manifests/… and "
        "copies/manifests/…), then check again; else find out who put an older state there, and if it is as it should "
        f"be: check again with --accept-rollback{then}"
    )


def _replace_keys(names: list[str]) -> str:
    """Return what to do about key slots of which no copy is whole."""
    removals = " and ".join(f"syncova-repo key remove LOCATION {_key_id(name)} --yes" for name in names[:_NAMED])
    more = " (key list names all)" if len(names) > _NAMED else ""
    return (
        f"bring {names[0]} back from a copy of the repository; if there is none: {removals}{more}, "
        "then key add for who has lost a password by it"
    )


def _key_id(name: str) -> str:
    return name.rpartition("/")[2][:8]


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
