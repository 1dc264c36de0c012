"""Progress reports are rare, and a new phase is never swallowed."""

from repositories.engine.progress import Progress, ProgressGate


def test_reports_pass_at_most_twice_a_second_and_phases_always() -> None:
    now = [0.0]
    seen: list[Progress] = []
    gate = ProgressGate(seen.append, lambda: now[0], interval=0.5)
    for tick in range(100):
        now[0] = tick / 50
        gate(Progress("reading", files=tick))
    assert [report.files for report in seen] == [0, 25, 50, 75]
    gate(Progress("committing"))
    gate(Progress("committing"))
    assert [report.phase for report in seen[4:]] == ["committing"]
