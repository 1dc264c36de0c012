"""The words for notes."""

from repositories.console.note_lines import note_lines
from repositories.engine.manifest.problems import SEVERITIES, Severity


def test_the_most_frequent_class_comes_first() -> None:
    assert note_lines({"vanished": 2, "excluded": 12_000}) == [
        "left out by exclude rules: 12,000",
        "vanished before they could be read: 2",
    ]


def test_every_class_of_notes_has_words() -> None:
    for kind in (str(kind) for kind, severity in SEVERITIES.items() if severity is Severity.NOTE):
        assert note_lines({kind: 3}) != [f"{kind.replace('_', ' ')}: 3"], kind


def test_a_class_of_a_later_version_is_told_by_its_name() -> None:
    assert note_lines({"too\nnew_kind": 1}) == ["too\\x0anew kind: 1"]
