"""What no client should send: refused with 4xx in the one shape, naming the field, and nothing half saved (7.14)."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework import serializers

from jobs.models import Job, Source
from syncova_project.rest import ApiView
from tests.api.builders import NOBODY, job_body, make_job, make_run
from tests.api.client import Answer, ApiClient
from tests.repositories.builders import make_repository

pytestmark = pytest.mark.django_db
FAR = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "99999-01-01T00:00:00Z")
# What a client's token is noted with at each request is no part of what was asked.
UNTOUCHED = ("jobs", "repositories")


def bodies(patterns: Any = None, prefix: str = "/") -> Iterator[tuple[str, str, Any]]:
    """Yield method, address and reader of every request that has a body."""
    for pattern in patterns if patterns is not None else get_resolver().url_patterns:
        address = prefix + str(pattern.pattern)
        view: Any = getattr(getattr(pattern, "callback", None), "view_class", int)
        if isinstance(pattern, URLResolver):
            yield from bodies(pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern) and issubclass(view, ApiView):
            for method, reader in view.bodies.items():
                yield method, address, reader


ASKED = sorted(bodies(), key=lambda one: one[:2])
assert len(ASKED) > 15


def filled(address: str) -> str:
    """Return the address with ids that nothing has; a kind of upkeep is a known one."""
    words = [
        NOBODY if word.startswith("<uuid:") else "check" if word.startswith("<") else word
        for word in address.split("/")
    ]
    return "/".join(words)


def rows() -> dict[str, int]:
    return {
        model._meta.label: model._default_manager.count()
        for name in UNTOUCHED
        for model in apps.get_app_config(name).get_models()
    }


def send(method: str, address: str, body: Any) -> Answer:
    return CLIENT[0].request(method, filled(address), body, **{"If-Match": "*"})


CLIENT: list[ApiClient] = []


@pytest.fixture(autouse=True)
def client() -> Iterator[ApiClient]:
    """One client for a test: a new token costs more than a request."""
    CLIENT[:] = [ApiClient()]
    yield CLIENT[0]
    CLIENT.clear()


def wrong(field: Any) -> list[Any]:
    """Return values of types that a field cannot have."""
    if isinstance(field, serializers.ListField):
        return ["x", {"x": 1}]
    if isinstance(field, serializers.DictField):
        return [[1]]
    if isinstance(field, serializers.BooleanField):
        return ["true", 1]
    if isinstance(field, serializers.IntegerField | serializers.FloatField):
        return ["7", True]
    return [7, {}, "\0"]


@pytest.mark.parametrize(("method", "address", "reader"), ASKED, ids=[f"{one[0]} {one[1]}" for one in ASKED])
def test_each_field_of_a_wrong_type_and_each_unknown_one_is_named(method: str, address: str, reader: Any) -> None:
    before = rows()
    judges = address.endswith("/validate")
    fields = {name: form for name, form in reader().fields.items() if not form.read_only}
    asked = [(name, value) for name, form in fields.items() for value in wrong(form)]
    for name, value in [*asked, ("x" * 5000, 1), ("naïve", None)]:
        answer = send(method, address, {name: value})
        if judges:
            assert (answer.status, answer.json["valid"]) == (200, False)
            told = answer.json["errors"]
        else:
            told = answer.refused(400, "VALIDATION_FAILED")["details"]
        assert any(one == name or one.startswith((f"{name}.", name[:300])) for one in told), (name, value, told)
    assert rows() == before


BROKEN = {
    "nothing that ends": b'{"name": "x"',
    "no UTF-8": b'{"name": "\xff\xfe"}',
    "another encoding": '{"name": "x"}'.encode("utf-16"),
    "a raw NUL": b'{"name": "\x00"}',
    "half a pair": b'{"name": "\\ud800"}',
    "not a number": b'{"count": NaN}',
    "too deep": b"[" * 100_000,
    "no object": b"[1, 2]",
    "a word": b'"home"',
    "null": b"null",
    "a number without end": b"1" * 5000,
    "a field twice": b'{"name": "a", "name": "b"}',
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_what_is_no_body_is_refused(body: bytes) -> None:
    before = rows()
    # The parser is the same everywhere: some addresses stand for all.
    for method, address, _ in ASKED[::6]:
        answer = send(method, address, body)
        if answer.json.get("valid") is False:
            continue
        assert answer.status in {400, 404, 409}, (method, address, answer.json)
        answer.refused(answer.status, answer.json["error"]["code"])
        assert answer.status == 400 or not body.strip(b'"null'), (method, address)
    assert rows() == before


def test_ten_megabytes_are_too_much(client: ApiClient) -> None:
    """Before anything of it is read as JSON."""
    before = rows()
    for body in (b'{"name": "' + b"x" * 10_000_000 + b'"}', b"\xff" * 10_000_000):
        client.post("jobs", body).refused(413, "REQUEST_TOO_LARGE")
    assert rows() == before


def with_sources(*sources: Any) -> dict[str, Any]:
    return job_body(make_repository()) | {"sources": list(sources)}


def paths(count: int) -> list[dict[str, Any]]:
    return [{"type": "filesystem", "id": f"/srv/{number}"} for number in range(count)]


@pytest.mark.parametrize(
    ("sources", "field"),
    [
        (paths(1001), "sources"),
        ([*paths(999), {"type": "filesystem", "id": "relative"}], "sources.999.path"),
        ([*paths(999), {"type": "filesystem", "id": "/srv/7"}], "sources.999.path"),
        (
            [*paths(2), {"type": "filesystem", "id": "/x", "exclude_patterns": ["*.x"] * 10_001}],
            "sources.2.exclude_patterns",
        ),
        (
            [{"type": "filesystem", "id": "/x", "exclude_patterns": [*["*.x"] * 9999, "x" * 4097]}],
            "sources.0.exclude_patterns.9999",
        ),
        ([{"type": "filesystem", "path_base64": "//5cAA=="}], "sources.0.path"),
        ([{"type": "filesystem", "id": "/x", "path": "/x"}], "sources.0.path"),
    ],
)
def test_of_too_much_nothing_is_kept(sources: list[Any], field: str, client: ApiClient) -> None:
    error = client.post("jobs", with_sources(*sources)).refused(400, "VALIDATION_FAILED")
    assert field in error["details"], list(error["details"])[:5]
    assert (Job.objects.count(), Source.objects.count()) == (0, 0)


def test_as_much_as_is_allowed_is_kept_whole(client: ApiClient) -> None:
    full = [{**paths(1000)[0], "exclude_patterns": [f"*.{number}" for number in range(10_000)]}, *paths(1000)[1:]]
    answer = client.post("jobs", with_sources(*full))
    assert (answer.status, len(answer.json["sources"])) == (201, 1000)
    assert len(answer.json["sources"][0]["exclude_patterns"]) == 10_000


@pytest.mark.parametrize("moment", FAR)
def test_instants_far_away_fail_no_request(moment: str, client: ApiClient) -> None:
    repository = make_repository()
    weekly = {"type": "interval", "every_seconds": 604800, "starts_at": moment}
    asked = {
        "windows": {"name": "far", "type": "blackout", "starts_at": moment, "ends_at": "9999-12-31T23:59:59Z"},
        "windows/preview": {"type": "allowed", "starts_at": "0001-01-01T00:00:00Z", "ends_at": moment},
        f"repositories/{repository.id}/restore": {"backup": "x", "target": "/x", "at": moment},
        "jobs/preview": {"schedule": weekly},
        "jobs": job_body(repository, schedule=weekly),
    }
    for address, body in asked.items():
        answer = client.post(address, body)
        assert answer.status < 500, (address, answer.json)
    assert client.get("queue").status == client.get("jobs").status == client.get("windows").status == 200


@pytest.mark.parametrize("word", ["x", "0", "../1", "%00", "%ff", "1" * 3000, "01900000-0000-7000-8000-00000000000g"])
def test_what_is_no_id_is_no_address(word: str, client: ApiClient) -> None:
    for address in ("jobs/{}", "jobs/{}/run", "runs/{}/log", "windows/{}", "repositories/{}/upkeep/check"):
        answer = client.get(address.format(word))
        answer.refused(answer.status, answer.json["error"]["code"])
        assert answer.status in {400, 404}


LISTS = (
    "jobs",
    "runs",
    "queue",
    "windows",
    "jobs/{job}/runs",
    "jobs/{job}/revisions",
    "jobs/{job}/decisions",
    "jobs/{job}/schedule-events",
)


def cursors(client: ApiClient, job_id: Any) -> dict[str, str]:
    """Return the cursor of the second page of each list that has one."""
    found = {}
    for address in LISTS:
        told = client.get(f"{address.format(job=job_id)}?limit=1").json["next_cursor"]
        if told is not None:
            found[address] = told
    return found


def test_a_cursor_belongs_to_one_list(client: ApiClient) -> None:
    """Also where two lists have the same order and the same filters: windows and jobs by name, events and decisions."""
    job = make_job()
    make_run(job)
    make_run()
    for number in range(2):
        times = {"starts_at": "2030-01-01T00:00:00Z", "ends_at": "2030-01-02T00:00:00Z"}
        client.post("windows", {"name": f"window {number}", "type": "blackout", **times})
        client.request("PATCH", f"jobs/{job.id}", {"name": f"other {number}"}, **{"If-Match": "*"})
    known = cursors(client, job.id)
    assert set(known) >= {"jobs", "runs", "queue", "windows", "jobs/{job}/revisions"}
    for owner, cursor in known.items():
        for address in LISTS:
            answer = client.get(f"{address.format(job=job.id)}?limit=1&cursor={cursor}")
            if address == owner:
                assert answer.status == 200
            else:
                assert "cursor" in answer.refused(400, "CURSOR_REFUSED")["details"]
