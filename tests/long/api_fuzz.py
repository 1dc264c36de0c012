"""The API asked by schemathesis for minutes (7.13): `FUZZ_EXAMPLES=50 ./syncova test tests/long/api_fuzz.py`.

The suite asks one example of each kind, always the same; this asks as many as it is told, and says which seed it took.
"""

import os
import random
import sys
from typing import Any

import pytest

from tests.api.fuzzing import ask_all
from tests.api.scene import make_scene

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(3600)]


def test_many_examples_of_each_operation(live_server: Any, settings: Any) -> None:
    settings.SYNCOVA_TOKEN_RATE = settings.SYNCOVA_ADDRESS_RATE = 0
    start = int(os.environ.get("FUZZ_SEED") or random.randrange(2**31))
    asked = ask_all(str(live_server), make_scene(), examples=int(os.environ.get("FUZZ_EXAMPLES", "30")), start=start)
    sys.stdout.write(f"seed {start}: {asked.operations} operations, {dict(asked.statuses)}\n")
    assert asked.wrong == [], f"FUZZ_SEED={start}"
