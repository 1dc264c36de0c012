"""What a person may do to repositories and their backups in the admin: the API's services, with its rights."""

import os
from typing import Any, Final

from django import forms
from django.conf import settings
from django.http import HttpRequest, QueryDict

from jobs.database_time import database_now
from jobs.models import Runner
from jobs.operation_serializers import OVERWRITE, CheckOrder, RestoreOrder, goes_over
from jobs.services import breaker_reset, operation_request
from jobs.states import RunKind, RunnerKind
from repositories.engine.display import show_path
from repositories.freezing import MAX_REASON, repository_freeze, repository_unfreeze
from repositories.looking import repository_look
from repositories.models import Backup, Repository, RepositoryState
from repositories.selectors import open_freezes
from repositories.serializers import FreezeInput, UnfreezeInput
from syncova_project import clock
from syncova_project.access.people import actor_of_person, may
from syncova_project.access.scopes import Scope
from syncova_project.admin_pages.actions import ActionForm, Done, PageAction, Values
from syncova_project.admin_pages.pages import address_of
from syncova_project.errors import PermissionDeniedError
from syncova_project.rest import read_input


class FreezeForm(ActionForm):
    """Why a repository is frozen."""

    reason = forms.CharField(max_length=MAX_REASON, help_text="For everybody whose runs then wait.")


class UnfreezeForm(ActionForm):
    """Whether another repository that was met at the place is the right one from now on."""

    def __init__(self, of: Repository, data: QueryDict | None = None) -> None:
        super().__init__(of, data)
        if of.observed_repository_id not in {None, of.repository_id}:
            self.fields["adopt_observed_id"] = forms.BooleanField(
                label="The repository that lies there now is the right one", required=False
            )


class CheckForm(ActionForm):
    """How deep a check goes."""

    read_data = forms.BooleanField(label="Read all data, not only what lists them", required=False)


class RestoreForm(ActionForm):
    """Where to, and what of a backup."""

    target = forms.CharField(
        label="Into the directory", strip=False, help_text="On the machine of the repository's worker group."
    )
    paths = forms.CharField(
        label="Only these paths",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="One a line, as in the backup; empty for all.",
    )
    overwrite = forms.ChoiceField(label="Replace what is there", choices=[(word, word) for word in OVERWRITE])
    verify = forms.BooleanField(label="Read what was restored back and compare it", required=False)
    dry_run = forms.BooleanField(label="Only say what it would do", required=False)

    def __init__(self, of: Backup, data: QueryDict | None = None) -> None:
        super().__init__(of, data)
        root = _restore_root(of.repository)
        self.initial["target"] = f"{root}/{of.backup_id}" if root else ""


def _restore_root(repository: Repository) -> str:
    group = Runner.objects.filter(kind=RunnerKind.GROUP, name__iexact=repository.worker_group).first()
    roots = (group.restore_roots if group else None) or settings.SYNCOVA_RESTORE_ROOTS
    return show_path(os.fsencode(roots[0])).rstrip("/") if roots else ""


def _freeze(request: HttpRequest, repository: Repository, values: Values) -> Done:
    told = read_input(FreezeInput, values)
    actor = actor_of_person(request.user)
    repository_freeze(repository_id=repository.id, actor=actor, now=clock.now(), **told)
    return Done("The repository is frozen: nothing new starts on it.")


def _unfreeze(request: HttpRequest, repository: Repository, values: Values) -> Done:
    told = read_input(UnfreezeInput, values)
    actor = actor_of_person(request.user)
    repository_unfreeze(repository_id=repository.id, actor=actor, now=clock.now(), **told)
    return Done("The freezes are cleared.")


def _look(request: HttpRequest, repository: Repository, _values: Values) -> Done:
    repository_look(repository_id=repository.id, actor=actor_of_person(request.user), now=clock.now())
    return Done("A worker is asked which repository lies there.")


def _retry(request: HttpRequest, repository: Repository, _values: Values) -> Done:
    breaker_reset(repository_id=repository.id, actor=actor_of_person(request.user), now=database_now())
    return Done("What waits for it may try it at once.")


def _check(request: HttpRequest, repository: Repository, values: Values) -> Done:
    return _asked(RunKind.CHECK, repository, read_input(CheckOrder, values), request)


def _restore(request: HttpRequest, backup: Backup, values: Values) -> Done:
    lines = values["paths"].replace("\r\n", "\n").split("\n")
    wanted = {**values, "backup": backup.backup_id, "paths": [line for line in lines if line]}
    order = read_input(RestoreOrder, wanted)
    if goes_over(order) and not may(request.user, Scope.RESTORES_IN_PLACE):
        told = f"To replace what is there needs the right {Scope.RESTORES_IN_PLACE}: take {OVERWRITE[0]}."
        raise PermissionDeniedError(told, details={"overwrite": [told]})
    return _asked(RunKind.RESTORE, backup.repository, order, request)


def _asked(kind: RunKind, repository: Repository, order: dict[str, Any], request: HttpRequest) -> Done:
    actor = actor_of_person(request.user)
    run = operation_request(kind, repository_id=repository.id, parameters=order, actor=actor, now=database_now())
    return Done("The run is queued.", address_of("jobs.run", run.id))


def _is_open(repository: Repository) -> bool:
    return repository.state == RepositoryState.ACTIVE


REPOSITORY_ACTIONS: Final = (
    PageAction("check", "Check", Scope.REPOSITORIES_WRITE, _check, _is_open, form=CheckForm),
    PageAction("freeze", "Freeze", Scope.REPOSITORIES_WRITE, _freeze, form=FreezeForm),
    PageAction(
        "unfreeze",
        "Clear freezes",
        Scope.REPOSITORIES_WRITE,
        _unfreeze,
        lambda repository: bool(open_freezes(repository)),
        question="Has what the open freezes name been looked into? What waits starts at once.",
        form=UnfreezeForm,
        destroys=True,
    ),
    PageAction("look", "Look again", Scope.REPOSITORIES_WRITE, _look),
    PageAction("retry", "Try at once", Scope.REPOSITORIES_WRITE, _retry, _is_open),
)
BACKUP_ACTIONS: Final = (
    PageAction(
        "restore", "Restore", Scope.RESTORES_RUN, _restore, lambda one: _is_open(one.repository), form=RestoreForm
    ),
)
