"""Fixtures of every test of the engine."""

from collections.abc import Iterator

import pytest

from tests.engine.chance import chance_of


@pytest.fixture(autouse=True)
def same_chance_in_each_run(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let repositories made by the test have the same keys whenever it runs."""
    with chance_of(request.node.nodeid):
        yield
