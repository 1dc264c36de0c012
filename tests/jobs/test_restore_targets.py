"""Where restores may write, by name: below a root, never the root itself, never our own data by accident."""

import pytest

from jobs.restore_targets import refusal

DATA = b"/var/lib/syncova"
OWN = [DATA]


@pytest.mark.parametrize("target", [b"/srv/restores/a", b"/srv/restores/a/b", b"/home/x"])
def test_below_a_root_is_allowed(target: bytes) -> None:
    assert refusal(target, [b"/srv/restores", b"/home/"], OWN) is None


@pytest.mark.parametrize("target", [b"/srv", b"/srv/restores-2/a", b"/etc", b"/"])
def test_outside_every_root_is_refused(target: bytes) -> None:
    assert "lies outside" in str(refusal(target, [b"/srv/restores"], OWN))
    assert "lies outside" in str(refusal(target, [], OWN))


@pytest.mark.parametrize("roots", [[b"/srv/restores"], [b"/srv/restores/"]])
def test_a_root_itself_is_no_target(roots: list[bytes]) -> None:
    """What lies in it belongs to other restores; a root below a root is one place more."""
    assert "is a root" in str(refusal(b"/srv/restores", roots, OWN))
    assert refusal(b"/srv/restores", [*roots, b"/srv"], OWN) is None


def test_own_data_is_no_target_but_for_a_root_set_inside_it() -> None:
    """execution.md, section 3: the default root is DATA/restores."""
    assert "own data" in str(refusal(DATA + b"/secrets", [b"/"], OWN))
    assert "own data" in str(refusal(DATA, [b"/var"], OWN))
    assert refusal(DATA + b"/restores/a", [DATA + b"/restores"], OWN) is None
    assert "lies outside" in str(refusal(DATA + b"/secrets/a", [DATA + b"/restores"], OWN))
