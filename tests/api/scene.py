"""One of each thing that the API has addresses for, and a token that may do all."""

from dataclasses import dataclass

from syncova_project import clock
from syncova_project.access.scopes import ALL_SCOPES
from syncova_project.access.services import token_create
from tests.api.builders import make_job, make_run, start
from tests.repositories.builders import make_backup, make_repository


@dataclass(frozen=True, slots=True)
class Scene:
    """The token's secret, and ids by the names of parameters."""

    token: str
    ids: dict[str, str]


def make_scene() -> Scene:
    """Return rows that are there whatever is asked of them: jobs are deleted softly, runs stay."""
    repository = make_repository(name="vault")
    job = make_job(repository, name="home")
    run = make_run(make_job(repository, name="running"))
    start(run)
    ids = {
        "job_id": str(job.id),
        "run_id": str(run.id),
        "repository_id": str(repository.id),
        "backup_id": str(make_backup(repository).id),
    }
    return Scene(token_create(name="fuzz", scopes=ALL_SCOPES, now=clock.now())[1], ids)
