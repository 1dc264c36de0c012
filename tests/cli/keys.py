"""Calls of `syncova-repo key`, none of which may print a secret."""

from pathlib import Path

from tests import canaries
from tests.cli.programs import Ended, Programs
from tests.engine.repositories import PASSWORD

NEW = canaries.repository_password("new")
SECRETS = (PASSWORD.decode(), NEW)


def key(programs: Programs, verb: str, *words: str | Path, secret: bool = True) -> Ended:
    """Call `key VERB`; no secret may ever be printed but the recovery code."""
    ended = programs.repo("key", verb, *words, secret=secret)
    assert not any(secret in ended.out + ended.err for secret in SECRETS)
    return ended
