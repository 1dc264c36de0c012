"""What the server answers outside the API's views: JSON in the one shape, and below /admin/ a page for people.

Owns these answers. A page asks no database and no session, since it is shown where they fail, and quotes nobody.
"""

import sys
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from django.contrib.admin.exceptions import DisallowedModelAdminLookup, DisallowedModelAdminToField
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from syncova_project.access.origin import current_origin
from syncova_project.error_shape import (
    FORBIDDEN,
    NOT_FOUND,
    UNAVAILABLE,
    WAIT_SECONDS,
    ErrorAnswer,
    answer_to,
    internal,
    known_answer,
)

_PAGES: Final = "/admin/"
_NO_RIGHT: Final = replace(
    FORBIDDEN,
    message="Your rights do not include this page, or what you asked it to do.",
    hint="Ask somebody who may change users to give you the right; docs/access.md says what each of them allows.",
)
_BEYOND: Final = replace(
    FORBIDDEN,
    message="This is an account, a group or a limit of people who may more than you do, so nothing was done.",
    hint="Ask a superuser, or somebody who holds all rights that these people hold.",
)
_NO_PAGE: Final = replace(
    NOT_FOUND,
    message="There is no such page, or nothing that you may see has this address.",
    hint="Begin at the start page; lists show all that you may see.",
)
_NO_FILTER: Final = replace(
    FORBIDDEN,
    status=400,
    code="MALFORMED_REQUEST",
    message="This list cannot be filtered by what its address asks for.",
    hint="Take the filters beside the list, or its search.",
)
_FOREIGN_FORM: Final = replace(
    FORBIDDEN,
    message="The form did not come from a page that this server has sent you lately, so nothing was done.",
    hint="Load the page again and send it once more. If that does not help, let your browser keep this server's "
    "cookies, and ask who runs it whether SYNCOVA_PUBLIC_URL is the address that you use.",
)


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django refuses before any view is chosen, and what a list of the admin cannot be asked for."""
    if isinstance(exception, DisallowedModelAdminLookup | DisallowedModelAdminToField) and _is_page(request):
        return _page(_NO_FILTER)
    answer = answer_to(exception)
    return _page(answer) if _is_page(request) else _json(answer)


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a refusal outside the API's views."""
    if not _is_page(request):
        return _json(FORBIDDEN)
    return _page(_BEYOND if getattr(request, "syncova_beyond", False) else _NO_RIGHT)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an address that does not exist."""
    return _page(_NO_PAGE) if _is_page(request) else _json(NOT_FOUND)


def handler500(request: HttpRequest) -> HttpResponse:
    """Answer a failure outside the API's views, 503 where the database is away; Django has logged its trace."""
    error = sys.exc_info()[1]
    is_away = isinstance(error, Exception) and known_answer(error) is UNAVAILABLE
    answer = UNAVAILABLE if is_away else internal()
    response = _page(answer) if _is_page(request) else _json(answer)
    if answer is UNAVAILABLE:
        response["Retry-After"] = str(WAIT_SECONDS)
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without the token that its page had."""
    return _page(_FOREIGN_FORM) if _is_page(request) else _json(FORBIDDEN)


def _is_page(request: HttpRequest) -> bool:
    return request.path.startswith(_PAGES)


def _page(answer: ErrorAnswer) -> HttpResponse:
    words = {
        "title": f"{answer.status} {HTTPStatus(answer.status).phrase}",
        "answer": answer,
        "request_id": current_origin().request_id,
    }
    # Without the request: what a page usually knows of it (person, messages) would ask the database.
    return HttpResponse(render_to_string("syncova/error.html", words), status=answer.status)


def _json(answer: ErrorAnswer) -> JsonResponse:
    return JsonResponse(answer.body(), status=answer.status)
