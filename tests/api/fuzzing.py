"""Requests that schemathesis makes of the API's description, sent to a live server; every answer is held against it.

Of each operation some are as the description allows, some break it. None may be answered with 5xx, nor in a form that
is not told; ids are those of a scene, and in part nobody's.
"""

from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from syncova_project.api_page import description
from tests.api.scene import Scene

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
# A token's own address would end the one that asks; streams last as long as their runs.
LEFT_OUT = {"/api/v1/tokens/{token_id}"}


@dataclass(slots=True)
class Asked:
    """With which seed how many operations were asked, how often they answered what, and what was wrong."""

    start: int
    operations: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def ask_all(url: str, scene: Scene, *, examples: int, start: int = 20261130) -> Asked:
    """Ask each operation `examples` times what is allowed, and what is not where it has a body or several are asked;
    `start` is the seed of all.
    """
    told = schemathesis.openapi.from_dict(dict(description()))
    told.config.update(base_url=url)
    asked = Asked(start)
    result: Any
    for result in told.get_all_operations():
        operation = result.ok()
        if operation.path in LEFT_OUT:
            continue
        asked.operations += 1
        _ask(operation, GenerationMode.POSITIVE, scene, examples, asked)
        # Without a body there is little to break but the address.
        if operation.body or examples > 1:
            _ask(operation, GenerationMode.NEGATIVE, scene, examples, asked)
    return asked


def _ask(operation: Any, mode: GenerationMode, scene: Scene, examples: int, asked: Asked) -> None:
    @seed(asked.start)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        known = {name: scene.ids[name] for name in case.path_parameters or {} if name in scene.ids}
        if known and mode is GenerationMode.POSITIVE:
            case.path_parameters.update(known)
        case.query = {name: value for name, value in (case.query or {}).items() if name != "follow"}
        answer = case.call(headers={"Authorization": f"Bearer {scene.token}"}, timeout=30)
        asked.statuses[str(answer.status_code)] += 1
        # The test server's own page for an address of over 64 KiB; what our own answers, tests/web asks.
        if answer.status_code == HTTPStatus.REQUEST_URI_TOO_LONG:
            return
        try:
            case.validate_response(answer, checks=list(CHECKS))
        # It raises a group of all that is wrong, which is no Exception.
        except BaseException as error:  # noqa: BLE001
            asked.wrong.append(f"{operation.method.upper()} {operation.path} {answer.status_code}: {error}"[:2000])

    send()
