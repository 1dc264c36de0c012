"""docs/api.md: every transcript is sent as it stands there, in order, and answered as it says (E1, E6)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jobs.models import Job
from tests.api.client import ApiClient
from tests.repositories.builders import make_repository

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```http\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def parts(text: str) -> tuple[str, dict[str, str], Any]:
    """Return the first line of a message, its headers and its body."""
    first, *rest = text.strip().splitlines()
    headers = {}
    while rest and (found := re.fullmatch(r"([A-Za-z-]+): (.*)", rest[0])):
        headers[found[1]] = found[2]
        rest.pop(0)
    return first, headers, json.loads("\n".join(rest)) if rest else None


def holds(answer: Any, told: Any) -> bool:
    """Tell whether an answer has all that the page shows of it."""
    if isinstance(told, dict):
        return isinstance(answer, dict) and all(name in answer and holds(answer[name], told[name]) for name in told)
    if isinstance(told, list):
        return len(answer) == len(told) and all(map(holds, answer, told))
    return bool(answer == told)


@pytest.mark.django_db
def test_every_transcript_of_the_page() -> None:
    assert len(BLOCKS) >= 12
    client, repository = ApiClient(), make_repository()
    for block in BLOCKS:
        job = Job.objects.first()
        filled = block.replace("{repository}", str(repository.id)).replace("{job}", str(job.id) if job else "")
        question, reply = filled.split("\n\n", 1)
        line, headers, body = parts(question)
        status, told_headers, told = parts(reply)
        method, address = line.split()
        answer = client.request(method, address, body, **headers)
        assert answer.status == int(status), (line, answer.json)
        for name, value in told_headers.items():
            assert re.fullmatch(re.escape(value).replace("…", "[0-9a-f]+"), answer.headers[name]), line
        assert told is None or holds(answer.json, told), (line, answer.json)
