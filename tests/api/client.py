"""A client for API tests: a token with chosen rights, JSON both ways, the form of each answer and refusal checked."""

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from syncova_project import clock
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.services import token_create
from tests.api.answer_forms import hold


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said: `json` is the parsed body, `headers` the answer's headers."""

    status: int
    json: Any
    headers: Any

    def refused(self, status: int, code: str) -> dict[str, Any]:
        """Check that this is an error of the one shape, with this status and code; return its inner object (E8)."""
        assert (self.status, self.json["error"]["code"]) == (status, code), self.json
        assert set(self.json) == {"error"}
        error: dict[str, Any] = self.json["error"]
        assert set(error) == {"code", "message", "hint", "details"}
        assert isinstance(error["message"], str)
        assert error["message"]
        assert isinstance(error["hint"], str)
        assert isinstance(error["details"], dict)
        assert "Traceback" not in str(error)
        return error


class ApiClient:
    """Sends requests below /api/v1/ with one token; `token=""` sends none."""

    def __init__(self, *scopes: str, token: str | None = None) -> None:
        if token is None:
            token = token_create(name="tester", scopes=scopes or ALL_SCOPES, now=clock.now())[1]
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Unexpected errors have to be answered, as on a server, not raised into the test.
        self.client = Client(raise_request_exception=False)

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a body as JSON; str and bytes go as they are."""
        data = body if isinstance(body, str | bytes) else b"" if body is None else json.dumps(body)
        address = path if path.startswith("/") else f"/api/v1/{path}"
        response = self.client.generic(
            method, address, data, content_type="application/json", headers={**self.headers, **headers}
        )
        content = response.json() if response.content else None
        hold(method, address, response.status_code, content)
        return Answer(response.status_code, content, response.headers)

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.request("POST", path, body, **headers)

    def delete(self, path: str) -> Answer:
        return self.request("DELETE", path)
