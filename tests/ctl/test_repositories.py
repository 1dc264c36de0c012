"""Repositories as people read them: one that no run could open, and a password that is given anew."""

import pytest

from jobs.database_time import database_now
from repositories.models import Repository
from repositories.troubles import repository_unopened
from tests.ctl import worker
from tests.ctl.conftest import Ctl

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def vault(ctl: Ctl) -> Repository:
    assert ctl("repository", "register", "vault", "/srv/vault").code == 0
    return Repository.objects.get()


def test_a_repository_that_no_run_could_open_is_told(ctl: Ctl, vault: Repository) -> None:
    assert "could not be opened" not in ctl("status").out
    repository_unopened(
        repository_id=vault.id, code="REPOSITORY_NOT_FOUND", message="nothing is there", now=database_now()
    )
    for words in (["status"], ["repository", "list"]):
        told = ctl(*words).out
        assert "could not be opened since 2" in told
        assert "UTC: nothing is there (REPOSITORY_NOT_FOUND)" in told


@pytest.mark.usefixtures("vault")
def test_the_password_of_an_opened_repository_is_replaced_by_registering_it_again(ctl: Ctl, plan: worker.Plan) -> None:
    plan.opening = worker.has_wrong_password
    assert ctl("repository", "register", "vault", "/srv/vault").code == 12
    plan.opening = worker.opens
    again = ctl("repository", "register", "vault", "/srv/vault", "--json")
    assert (again.code, again.json["state"]) == (0, "active")
    assert Repository.objects.count() == 1
