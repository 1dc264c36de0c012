"""Tokens: shown once, kept as a digest, found in constant time, and refused for every reason alike (E1)."""

import datetime as dt

import pytest

from syncova_project.access.models import ApiToken, AuditEntry
from syncova_project.access.selectors import token_find
from syncova_project.access.services import TokenNotFoundError, token_create, token_revoke, token_widen
from syncova_project.access.tokens import make_token, parse_token
from syncova_project.errors import ValidationFailedError

NOW = dt.datetime(2026, 11, 30, 2, 0, tzinfo=dt.UTC)


def test_a_token_reads_back_and_its_repr_hides_it() -> None:
    token = make_token()
    parsed = parse_token(token.text)
    assert parsed == token
    assert token.text not in repr(token)
    assert len(token.digest) == 32
    assert token.matches(token.digest)
    assert not token.matches(bytes(32))


@pytest.mark.parametrize(
    "text", ["", "syncova_", "syncova_abc_def", "x" * 5000, "syncova_" + "a" * 12 + "_" + "g" * 64]
)
def test_what_is_no_token_is_none(text: str) -> None:
    assert parse_token(text) is None


@pytest.mark.django_db
def test_the_secret_is_kept_nowhere() -> None:
    token, plain = token_create(name="nightly", scopes=["jobs.read"], now=NOW, maker="alice")
    row = ApiToken.objects.values_list().get()
    assert plain[-64:] not in repr(row)
    assert plain[-64:] not in repr(AuditEntry.objects.values_list().get())
    assert token_find(text=plain, now=NOW) == token


@pytest.mark.django_db
def test_wrong_expired_and_revoked_tokens_are_not_found() -> None:
    _, plain = token_create(name="a", scopes=["jobs.read"], now=NOW, expires_at=NOW + dt.timedelta(hours=1))
    wrong = plain[:-1] + ("0" if plain[-1] != "0" else "1")
    assert token_find(text=wrong, now=NOW) is None
    assert token_find(text=make_token().text, now=NOW) is None
    assert token_find(text=plain, now=NOW + dt.timedelta(hours=1)) is None
    assert token_find(text=plain, now=NOW) is not None
    token_revoke(prefix=plain.split("_")[1], actor="alice", now=NOW)
    assert token_find(text=plain, now=NOW) is None


@pytest.mark.django_db
def test_revoking_twice_is_one_entry_and_an_unknown_one_is_named() -> None:
    token, _ = token_create(name="a", scopes=["jobs.read"], now=NOW)
    token_revoke(prefix=token.prefix, actor="alice", now=NOW)
    token_revoke(prefix=token.prefix, actor="alice", now=NOW + dt.timedelta(hours=1))
    assert AuditEntry.objects.filter(action="token.revoke").count() == 1
    assert ApiToken.objects.get().revoked_at == NOW
    with pytest.raises(TokenNotFoundError):
        token_revoke(prefix="unknown", actor="alice", now=NOW)


@pytest.mark.django_db
def test_last_use_is_noted_once_a_minute() -> None:
    _, plain = token_create(name="a", scopes=["jobs.read"], now=NOW)
    for seconds in (0, 30, 61):
        token_find(text=plain, now=NOW + dt.timedelta(seconds=seconds))
    assert ApiToken.objects.get().last_used_at == NOW + dt.timedelta(seconds=61)
    token_find(text=plain, now=NOW + dt.timedelta(seconds=90))
    assert ApiToken.objects.get().last_used_at == NOW + dt.timedelta(seconds=61)


@pytest.mark.parametrize(("name", "scopes"), [("", ["jobs.read"]), ("a", []), ("a", ["jobs.read", "root"])])
def test_a_token_without_name_or_known_rights_is_refused(name: str, scopes: list[str]) -> None:
    with pytest.raises(ValidationFailedError):
        token_create(name=name, scopes=scopes, now=NOW)


@pytest.mark.django_db
def test_a_token_that_gets_new_rights_keeps_its_secret_and_is_audited() -> None:
    token, plain = token_create(name="ctl", scopes=["jobs.read"], now=NOW)
    token_widen(token=token, scopes=["jobs.run", "jobs.read"], now=NOW)
    found = token_find(text=plain, now=NOW)
    assert found is not None
    assert found.scopes == ["jobs.read", "jobs.run"]
    told = {"before": ["jobs.read"], "after": ["jobs.read", "jobs.run"]}
    assert AuditEntry.objects.get(action="token.widen").details == told
