"""Six backups, a forget, a prune, a check and a restore at once, as real processes (3.13)."""

from pathlib import Path

import pytest

from tests.engine.faults.crowd import can_contain, require_newest, run_crowd

SECONDS = 3.0


@pytest.mark.parametrize("contained", [False, True], ids=["one namespace", "two namespaces"])
def test_all_at_once(tmp_path: Path, contained: bool) -> None:
    """In two namespaces of one host nobody sees the others' processes; nothing is deleted under one that lives."""
    if contained and not can_contain():
        pytest.skip("this user may not make a pid namespace")
    turns = run_crowd(tmp_path, SECONDS, contained=contained)
    assert min(turns.values()) >= 1
    require_newest(tmp_path)
