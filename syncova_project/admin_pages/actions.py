"""What a person may do on a page of the admin: each action calls a service of the API, with the API's right.

Owns the way of an action: POST with its CSRF token alone, a page that asks first where it destroys or needs values,
and refusals shown beside the fields that they are about. The services decide, and write the audit trail.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from rest_framework import serializers

from syncova_project.access.scopes import Scope
from syncova_project.error_shape import ErrorAnswer, answer_to
from syncova_project.errors import SyncovaError
from syncova_project.log import single_line

Values = Mapping[str, Any]
REFUSED: Final = (SyncovaError, serializers.ValidationError)


@dataclass(frozen=True, slots=True)
class Done:
    """What an action answers: a sentence, and where to go then ("": back to the page)."""

    message: str
    address: str = ""


class ActionForm(forms.Form):
    """What an action asks for. `of` is the row that it is done to."""

    def __init__(self, of: Any, data: QueryDict | None = None) -> None:
        super().__init__(data)
        self.of = of

    @property
    def groups(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the visible fields in groups with headings ("" for none), in the order in which they are read."""
        yield "", self.visible_fields()

    def field_of(self, name: str) -> str | None:
        """Return which field shows a refusal of the API's field `name` (`sources.0.path`), None for none of them."""
        return next((field for field in (name, name.partition(".")[0]) if field in self.fields), None)


def _always(_row: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class PageAction:
    """One action; `name` is part of its address. With a `question` or a `form` a page comes before it is done."""

    name: str
    label: str
    scope: Scope
    perform: Callable[[HttpRequest, Any, Values], Done]
    offered: Callable[[Any], bool] = _always
    question: str = ""
    form: type[ActionForm] | None = None
    destroys: bool = False

    @property
    def asks(self) -> bool:
        """Tell whether a page comes first."""
        return bool(self.question) or self.form is not None


@dataclass(frozen=True, slots=True)
class Offered:
    """An action as a page offers it."""

    action: PageAction
    address: str


def carry_out(action: PageAction, request: HttpRequest, obj: Any, page: dict[str, Any]) -> HttpResponse:
    """Answer a request for an action; `page` has what its own page shows, `page_address` where the row's page is."""
    if request.method != "POST" and not action.asks:
        return HttpResponseNotAllowed(["POST"])
    try:
        return _answered(action, request, obj, page)
    except REFUSED as error:
        messages.error(request, _sentence(_told(error)))
        return HttpResponseRedirect(page["page_address"])


def _answered(action: PageAction, request: HttpRequest, obj: Any, page: dict[str, Any]) -> HttpResponse:
    data = request.POST if request.method == "POST" else None
    form = action.form(obj, data) if action.form else None
    if data is None:
        return _asked(request, action, form, page)
    if form is not None and not form.is_valid():
        return _asked(request, action, form, page, status=400)
    try:
        done = action.perform(request, obj, form.cleaned_data if form else {})
    except REFUSED as error:
        if form is None:
            raise
        answer = _told(error)
        _place(answer, form)
        return _asked(request, action, form, page, status=answer.status)
    messages.success(request, single_line(done.message))
    return HttpResponseRedirect(done.address or page["page_address"])


def _asked(
    request: HttpRequest, action: PageAction, form: ActionForm | None, page: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    shown = {**page, "action": action, "form": form, "title": action.label}
    return TemplateResponse(request, "syncova/action.html", shown, status=status)


def _place(answer: ErrorAnswer, form: ActionForm) -> None:
    """Put a refusal beside the fields that it names, and what it says of none of them above the form."""
    placed = False
    for name, sentences in answer.details.items():
        field = form.field_of(str(name))
        for sentence in sentences if isinstance(sentences, Sequence) and not isinstance(sentences, str) else ():
            form.add_error(field, single_line(str(sentence) if field else f"{name}: {sentence}"))
            placed = True
    if not placed:
        form.add_error(None, _sentence(answer))


def _told(error: Exception) -> ErrorAnswer:
    """Return the answer to an error with the next step of who acts on a page."""
    answer = answer_to(error)
    return replace(answer, hint=error.page_hint) if isinstance(error, SyncovaError) else answer


def _sentence(answer: ErrorAnswer) -> str:
    return single_line(" ".join(filter(None, (answer.message, answer.hint))))
