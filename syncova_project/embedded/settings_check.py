"""Whether the settings of a start can be used at all, asked before anything is touched.

Owns the order; the rules are env's and derived's, the very ones that the settings of each process are made with.
"""

from syncova_project import env
from syncova_project.connection_urls import database_settings
from syncova_project.derived import checked_rhythm, hosts_and_origins, seal_keys

_DATABASES = ("SYNCOVA_DATABASE_URL", "SYNCOVA_MIGRATION_DATABASE_URL")


def check(environment: env.Environment) -> None:
    """Raise ConfigurationError naming the first setting that no process could start with."""
    environment.validate()
    hosts_and_origins(environment.word("SYNCOVA_PUBLIC_URL").rstrip("/"))
    seal_keys(environment.words("SYNCOVA_SECRET_KEYS"))
    checked_rhythm(
        tick=environment.integer("SYNCOVA_TICK_SECONDS"),
        heartbeat=environment.integer("SYNCOVA_HEARTBEAT_SECONDS"),
        orphan=environment.integer("SYNCOVA_ORPHAN_SECONDS"),
    )
    for name in _DATABASES:
        database_settings(environment.text(name))
