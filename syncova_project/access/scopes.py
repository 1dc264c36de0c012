"""The closed list of rights that a token can hold (E1). Owns their names; decides nothing."""

import enum


class Scope(enum.StrEnum):
    """One right; the value is what clients, tokens and the documentation write."""

    JOBS_READ = "jobs.read"
    JOBS_WRITE = "jobs.write"
    JOBS_RUN = "jobs.run"
    RUNS_READ = "runs.read"
    RUNS_IGNORE_WINDOWS = "runs.ignore_windows"
    RESTORES_RUN = "restores.run"
    RESTORES_IN_PLACE = "restores.in_place"
    REPOSITORIES_READ = "repositories.read"
    REPOSITORIES_WRITE = "repositories.write"


ALL_SCOPES: tuple[str, ...] = tuple(scope.value for scope in Scope)
