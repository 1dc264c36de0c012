"""How tests say that PostgreSQL itself refuses a row: by the name of the constraint that it reports."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import DatabaseError, transaction


@contextmanager
def refused_by(constraint: str) -> Iterator[None]:
    """Expect the block to violate exactly this constraint; the test's transaction stays usable."""
    with pytest.raises(DatabaseError) as caught, transaction.atomic():
        yield
    diagnosis = getattr(caught.value.__cause__, "diag", None)
    assert getattr(diagnosis, "constraint_name", None) == constraint
