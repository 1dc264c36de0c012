"""2.13: random trees, changed at random between backups; every backup of the sequence restores as the tree was.

For hours of it: `python -m tests.long.random_trees`.
"""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.engine.backup.random_sequences import Round, require_identical, sequences


@given(sequences)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_backup_of_a_sequence_restores_identical(
    tmp_path_factory: pytest.TempPathFactory, sequence: tuple[bool, list[Round]]
) -> None:
    require_identical(tmp_path_factory.mktemp("random"), *sequence)
