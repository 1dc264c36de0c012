"""Nothing is looked at twice for being young here: no test waits for writers that there are not."""

import pytest

from repositories.engine.check import copies as check_copies
from repositories.engine.repair import copies as repair_copies


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_copies, "_SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(repair_copies, "_SETTLE_SECONDS", 0.0)
