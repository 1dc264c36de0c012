"""The request's edge: gives each request an id and an origin, and every answer its security headers.

Owns the Content-Security-Policy: no page loads anything from another host. Decides no right.
"""

import re
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from syncova_project.access.origin import Origin, request_origin

Handler = Callable[[HttpRequest], HttpResponse]

ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class RequestOriginMiddleware:
    """Names the request for logs and audit; a client's own X-Request-ID is kept when it is harmless."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if ACCEPTABLE_ID.fullmatch(given) else uuid.uuid4().hex
        with request_origin(Origin(request_id, str(request.META.get("REMOTE_ADDR", "")))):
            response = self.get_response(request)
        response["X-Request-ID"] = request_id
        return response


class ContentSecurityMiddleware:
    """Adds the policy to every answer, and forbids caches to keep what the API says."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.setdefault("Content-Security-Policy", POLICY)
        response.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
        if request.path.startswith("/api/"):
            response.setdefault("Cache-Control", "no-store")
        return response
