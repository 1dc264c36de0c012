"""The API over HTTP with the standard library alone: JSON in and out, errors as the commands' failures.

Owns time-outs and the retry of creating requests, which carry an Idempotency-Key so that a lost answer makes
nothing twice. Follows no redirect: the token goes to the named server and nowhere else.
"""

import http.client
import json
import ssl
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn
from urllib.parse import urlencode, urlsplit

from jobs.ctl.refusals import refusal
from jobs.ctl.server import Server
from repositories.console.failures import Failure, ReportedFailureError

SECONDS: Final = 30
# Longer than the server waits for the next piece of a file, so that it is the one who says what is wrong.
LONG_SECONDS: Final = 90
_LIMIT: Final = 64 * 1024 * 1024
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
Json = dict[str, Any]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any, **_named: Any) -> None:
        return None


class Api:
    """One server's API; every method raises ReportedFailureError with what the server said, or that it is away."""

    def __init__(self, server: Server) -> None:
        self.url = server.url
        self._headers = {"Authorization": f"Bearer {server.token}", "Accept": "application/json"}
        # What is on this machine is asked directly, whatever proxy the environment names.
        direct = [urllib.request.ProxyHandler({})] if urlsplit(server.url).hostname in _LOOPBACK else []
        self._opener = urllib.request.build_opener(_NoRedirect, *direct)

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Json:
        """Return what is at `path` below /api/v1/; parameters that are None are left out."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self._send("GET", f"{path}?{urlencode(given)}" if given else path)

    def opened(self, path: str, query: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        """Return the answer at `path` for its bytes, to be closed by the caller; the server may look for them first."""
        try:
            asked = self._built("GET", f"{path}?{urlencode(query)}", headers=headers)
            return self._opener.open(asked, timeout=LONG_SECONDS)
        except urllib.error.HTTPError as error:
            with error:
                self._refused(error.code, error.read(_LIMIT))
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            self._away(error)

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Json:
        """Ask for a change that may be repeated."""
        return self._send("POST", path, body or {})

    def put(self, path: str, body: Mapping[str, Any]) -> Json:
        """Replace what is at `path`."""
        return self._send("PUT", path, body)

    def patch(self, path: str, body: Mapping[str, Any], revision: int) -> Json:
        """Change what is at `path`, if it is still what it was at this revision."""
        return self._send("PATCH", path, body, {"If-Match": f'"{revision}"'})

    def create(self, path: str, body: Mapping[str, Any] | None = None) -> Json:
        """Make something once: sent again under the same key if the answer is lost on its way."""
        key = {"Idempotency-Key": uuid.uuid4().hex}
        try:
            return self._request("POST", path, body or {}, key)
        except (urllib.error.URLError, http.client.HTTPException, OSError):
            return self._send("POST", path, body or {}, key)

    def delete(self, path: str) -> Json:
        """End what is at `path`."""
        return self._send("DELETE", path)

    def every(self, path: str, name: str, query: Mapping[str, Any] | None = None) -> Iterator[Json]:
        """Yield the members of a list page by page."""
        cursor = None
        while True:
            page = self.get(path, {**(query or {}), "cursor": cursor})
            yield from page[name]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Json:
        try:
            return self._request(method, path, body, headers or {})
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            self._away(error)

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Json:
        try:
            with self._opener.open(self._built(method, path, body, headers), timeout=SECONDS) as answer:
                return self._parsed(answer.read(_LIMIT))
        except urllib.error.HTTPError as error:
            with error:
                self._refused(error.code, error.read(_LIMIT))

    def _built(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> urllib.request.Request:
        return urllib.request.Request(  # noqa: S310 - find_server lets only http and https through
            f"{self.url}/api/v1/{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={**self._headers, **(headers or {}), "Content-Type": "application/json"},
        )

    def _parsed(self, content: bytes) -> Json:
        if not content:
            return {}
        try:
            parsed = json.loads(content)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            self._stranger("its answer is no JSON object")
        return parsed

    def _refused(self, status: int, content: bytes) -> NoReturn:
        try:
            error = json.loads(content)["error"]
            code, message, hint, details = error["code"], error["message"], error["hint"], error["details"]
        except (ValueError, KeyError, TypeError):
            self._stranger(f"it answered {status}")
        raise refusal(code, message, hint, details)

    def _away(self, error: Exception) -> NoReturn:
        reason: object = getattr(error, "reason", None) or error
        if isinstance(reason, ssl.SSLCertVerificationError):
            hint = "name its certificate authority in SSL_CERT_FILE"
        else:
            hint = "is it running? `./syncova status` says; `./syncova up -d` starts it"
        text = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
        raise ReportedFailureError(Failure("SERVER_AWAY", f"{self.url} does not answer: {text}", hint)) from error

    def _stranger(self, why: str) -> NoReturn:
        raise ReportedFailureError(
            Failure("NOT_SYNCOVA", f"{self.url} is no Syncova server: {why}", "check SYNCOVA_URL")
        )
