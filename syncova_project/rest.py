"""What every API view is built on: JSON in and out, bearer tokens, scopes, the one error shape, strict fields.

Owns the classes that views and serializers derive from. No view sets its own parsers, renderers or handlers, so no
endpoint can answer in another shape.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils import json
from rest_framework.views import APIView

from syncova_project import clock
from syncova_project.access.authentication import BearerAuthentication, PersonAuthentication
from syncova_project.access.idempotency import KeyedRequest, answer_once, secret_already_shown
from syncova_project.access.permissions import HasScope
from syncova_project.access.principals import Principal
from syncova_project.access.scopes import Scope
from syncova_project.access.throttling import throttle_address, throttle_principal
from syncova_project.access.visibility import check_sight, limit_sight
from syncova_project.answer_shapes import Form
from syncova_project.api_schema import ApiSchema
from syncova_project.error_shape import NOT_ALLOWED, UNAVAILABLE, WAIT_SECONDS, ErrorAnswer, answer_to
from syncova_project.errors import ValidationFailedError
from syncova_project.json_types import wrong_types
from syncova_project.plain_names import NOT_PLAIN, is_plain
from syncova_project.preconditions import Condition, condition_of, has_already
from syncova_project.replays import check_replay, kept_with_sight

Reader = type[serializers.Serializer[Any]]


class BoundedJSONParser(JSONParser):
    """JSON that nests too deeply or names a field twice is the client's error, as other broken JSON is."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Return the parsed body, or raise ParseError."""
        try:
            return json.loads(stream.read().decode("utf-8"), object_pairs_hook=_once)
        except (RecursionError, ValueError) as error:
            raise ParseError("no JSON that can be read") from error


class ApiView(APIView):
    """A view of the API, told per method: `scopes` are the rights of which one is needed (none: nobody gets in),
    `bodies` and `queries` are what it reads, `examples` bodies that it takes, `answers` the forms of what it answers,
    in the words of answer_shapes, `statuses` with which status when that is not 200, `pending` the form of a 202 that
    stands for an answer to come, `media` what it answers instead of JSON, or beside it where it has a form,
    `conditions` whether it needs the header If-Match (False: reads it where it is sent), `ranges` which answer a part,
    `tagged` which are 304 for who has the answer already, `keyed` which create by `create_once`, once for an
    Idempotency-Key.
    """

    schema = ApiSchema()
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    authentication_classes = [BearerAuthentication, PersonAuthentication]
    permission_classes = [HasScope]
    parser_classes = [BoundedJSONParser]
    renderer_classes = [JSONRenderer]
    throttle_classes = []
    scopes: ClassVar[Mapping[str, tuple[Scope, ...]]] = {}
    bodies: ClassVar[Mapping[str, Reader]] = {}
    queries: ClassVar[Mapping[str, Reader]] = {}
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    answers: ClassVar[Mapping[str, Form]] = {}
    statuses: ClassVar[Mapping[str, int]] = {}
    pending: ClassVar[Mapping[str, Form]] = {}
    media: ClassVar[Mapping[str, str]] = {}
    conditions: ClassVar[Mapping[str, bool]] = {}
    ranges: ClassVar[frozenset[str]] = frozenset()
    tagged: ClassVar[frozenset[str]] = frozenset()
    keyed: ClassVar[frozenset[str]] = frozenset()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check who asks; keep the raw body of a request with a key, which is part of what the key stands for."""
        throttle_address()
        super().initial(request, *args, **kwargs)
        throttle_principal(request.user)
        limit_sight(principal_of(request).groups)
        check_sight(kwargs)
        self._refuse_unread(request)
        if "Idempotency-Key" in request.headers:
            _ = request._request.body

    def _refuse_unread(self, request: Request) -> None:
        """Refuse parameters and bodies where nothing reads them: a misspelled or misplaced one is never passed over."""
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in self.queries:
            read_input(NoBody, request.query_params)
        if method == "DELETE":
            read_input(NoBody, request.data)

    def body(self, request: Request) -> dict[str, Any]:
        """Return the validated body; raises the validation error that names its fields."""
        return read_input(self.bodies[str(request.method)], request.data)

    def query(self, request: Request) -> dict[str, Any]:
        """Return the validated query parameters; unknown ones are refused."""
        return read_input(self.queries["GET"], request.query_params)

    def condition(self, request: Request) -> Condition:
        """Return which state the request was made for; raises PreconditionRequiredError where it has to say so."""
        return condition_of(request.headers.get("If-Match"), needed=self.conditions[str(request.method)])

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        """Return the one handler, whatever the settings say."""
        return exception_handler


class Choice(serializers.ChoiceField):
    """A field with a closed set of words; a refusal lists them."""

    def __init__(self, choices: Any, **options: Any) -> None:
        super().__init__(choices, **options)
        words = ", ".join(str(word) for word in self.choices)
        self.error_messages["invalid_choice"] = f"Must be one of {words}, not {{input}}."


class PlainName(serializers.CharField):
    """A name for something new; what has another one keeps it."""

    def to_internal_value(self, data: Any) -> str:
        """Return the name, or refuse what is not seen of it."""
        name: str = super().to_internal_value(data)
        if not is_plain(name):
            raise serializers.ValidationError([NOT_PLAIN])
        return name


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer of input that refuses fields it does not know: a misspelled option is never ignored.

    `stand_ins` stand, where all errors are gathered at once, for refused fields, so that the others are judged as well.
    """

    stand_ins: ClassVar[Mapping[str, Any]] = {}

    def judged_in_part(self, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what is judged of an entry that others cannot stand in for, by these of its fields; None: nothing."""
        return None

    def to_internal_value(self, data: Any) -> Any:
        """Return the validated values; unknown names and values of another JSON type are errors of their own fields."""
        if isinstance(data, Mapping):
            unknown = sorted(str(name) for name in set(data) - set(self.fields))
            if unknown:
                raise serializers.ValidationError({name: ["There is no such field."] for name in unknown[:20]})
            # Query parameters are always text, and none is a list.
            wrong = _repeated(data) if isinstance(data, QueryDict) else wrong_types(self.fields, data)
            if wrong:
                raise serializers.ValidationError(wrong)
        return super().to_internal_value(data)


class NoBody(StrictSerializer):
    """The body of a POST that takes none; an empty object is the same."""


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Answer any exception of a view in the one shape."""
    answer = answer_to(error)
    response = Response(answer.body(), status=answer.status)
    response.exception = True
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # `answer_to` has logged it with its reason; Django would add a line that says less.
        response._has_been_logged = True  # type: ignore[attr-defined]
    header = getattr(error, "auth_header", None)
    if header:
        response["WWW-Authenticate"] = header
    for name, value in getattr(error, "headers", {}).items():
        response[name] = value
    wait = getattr(error, "wait", None)
    if wait:
        response["Retry-After"] = str(int(wait) + 1)
    elif answer is UNAVAILABLE:
        response["Retry-After"] = str(WAIT_SECONDS)
    return response


def not_modified(tag: str) -> Response:
    """Return the answer to who has already what has this tag."""
    return Response(status=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})


def unless_had(request: Request, answer: Response) -> Response:
    """Return an answer that has an ETag, or that the caller has it already (If-None-Match)."""
    tag = str(answer["ETag"])
    return not_modified(tag) if has_already(request.headers.get("If-None-Match"), tag) else answer


@dataclass(frozen=True, slots=True)
class Created:
    """What a creating view answers: status, body, and the new thing's address."""

    status: int
    body: dict[str, Any]
    location: str


def create_once(request: Request, create: Callable[[], Created], *, secret: bool = False) -> Response:
    """Run `create`, or answer again what it answered to the same Idempotency-Key (E5).

    An answer that holds a `secret` is never kept: asked again, SecretAlreadyShownError says where the thing is. Who
    sees less than at the first time gets what `check_replay` raises.
    """
    key = request.headers.get("Idempotency-Key")
    if key is None:
        made = create()
        return Response(made.body, status=made.status, headers={"Location": made.location})

    shown: list[Created] = []

    def keep() -> tuple[int, Any]:
        made = create()
        shown.append(made)
        return made.status, kept_with_sight(None if secret else made.body, made.location)

    django_request = request._request
    keyed = KeyedRequest(
        actor_of(request), key, str(request.method), request.get_full_path(), bytes(django_request.body)
    )
    kept = answer_once(request=keyed, create=keep, now=clock.now())
    headers = {"Location": kept.body["location"]}
    if kept.replayed:
        check_replay(kept.body)
        if secret:
            raise secret_already_shown(kept.body["location"])
        headers["Idempotency-Replayed"] = "true"
    body = shown[0].body if shown else kept.body["body"]
    return Response(body, status=kept.status, headers=headers)


def actor_of(request: Request) -> str:
    """Return what the audit trail calls the caller."""
    return principal_of(request).actor


def principal_of(request: Request) -> Principal:
    """Return the caller."""
    principal: object = request.user
    if not isinstance(principal, Principal):
        raise TypeError("a view without HasScope asked who acts")
    return principal


def read_input(serializer: Reader, data: Any) -> dict[str, Any]:
    """Return the validated values of a body or of query parameters, or raise the validation error."""
    reader = serializer(data=data)
    reader.is_valid(raise_exception=True)
    values: dict[str, Any] = reader.validated_data
    return values


def safe_only(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Return the view for GET and HEAD; other methods are refused in the one shape."""

    @functools.wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        if request.method in {"GET", "HEAD"}:
            return view(request)
        return _json(NOT_ALLOWED, headers={"Allow": "GET, HEAD"})

    return checked


def _repeated(parameters: QueryDict) -> dict[str, list[str]]:
    return {name: ["Is given twice."] for name, values in parameters.lists() if len(values) > 1}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names a field twice: which of the two was meant, nobody can know."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})[:20] if len(names) < 1000 else ["body"]
        raise ValidationFailedError(
            f"Named twice: {', '.join(twice)}.",
            hint="Send each field once.",
            details={name: ["Is named twice."] for name in twice},
        )
    return found


def _json(answer: ErrorAnswer, headers: dict[str, str] | None = None) -> JsonResponse:
    return JsonResponse(answer.body(), status=answer.status, headers=headers)
