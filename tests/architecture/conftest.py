"""What the architecture tests leave behind: nothing. Parsed files are millions of objects to look after."""

from collections.abc import Iterator

import pytest

from tests.architecture import source_files


@pytest.fixture(scope="package", autouse=True)
def forgotten_trees() -> Iterator[None]:
    """Forget the parsed files after the last of these tests: the rest of the session would carry them along."""
    yield
    for kept in (source_files.modules, source_files.parsed):
        kept.cache_clear()
