"""Both embedded servers of one data directory: start them, know their addresses, stop them.

Owns the order (prepare, spawn, wait, roles) and nothing of either server's inside. The caller holds the directory
(one starter at a time) and has stopped what an earlier one left (leftovers.py).
"""

from dataclasses import dataclass

import psycopg2

from syncova_project.connection_urls import socket_broker_url, socket_database_url
from syncova_project.embedded import postgres, processes, valkey
from syncova_project.embedded.accounts import Account
from syncova_project.embedded.layout import Layout
from syncova_project.embedded.problems import ServerStartError
from syncova_project.embedded.programs import programs_for


@dataclass(frozen=True, slots=True)
class RunningPostgres:
    """A started PostgreSQL with the addresses of its roles."""

    identity: processes.Identity
    application_url: str
    owner_url: str


@dataclass(frozen=True, slots=True)
class RunningValkey:
    """A started Valkey with its address."""

    identity: processes.Identity
    url: str


def start_postgres(layout: Layout, account: Account, *, throwaway: bool = False) -> RunningPostgres:
    """Start PostgreSQL and make its roles; raises StackError. Ends the server when it cannot be made ready."""
    postgres.refuse_missing_secrets(layout)
    programs = programs_for(account, layout.programs)
    passwords = postgres.keep_passwords(layout.secrets)
    postgres.prepare(layout, account, programs.postgres_bin, postgres.THROWAWAY if throwaway else "")
    identity = processes.start(postgres.command(layout, account, programs.postgres_bin))
    try:
        postgres.wait_ready(layout, passwords, identity)
        postgres.ensure_roles(layout, passwords)
    except BaseException as error:
        postgres.stop(identity, grace=1)
        if isinstance(error, psycopg2.Error):
            reason = str(error).strip().splitlines()
            raise ServerStartError(f"PostgreSQL's roles could not be made: {' '.join(reason)}") from error
        raise
    return RunningPostgres(
        identity,
        application_url=_url(layout, postgres.APPLICATION, passwords.application, postgres.DATABASE),
        owner_url=_url(layout, postgres.OWNER, passwords.owner, postgres.DATABASE),
    )


def start_valkey(layout: Layout, account: Account) -> RunningValkey:
    """Start Valkey; raises StackError. Ends the server when it does not answer."""
    programs = programs_for(account, layout.programs)
    password = valkey.keep_password(layout.secrets)
    valkey.prepare(layout, account, password)
    identity = processes.start(valkey.command(layout, account, programs.valkey_server))
    try:
        valkey.wait_ready(layout, password, identity)
    except BaseException:
        valkey.stop(identity, grace=1)
        raise
    return RunningValkey(identity, socket_broker_url(password=password, path=valkey.socket_path(layout)))


def _url(layout: Layout, user: str, password: str, database: str) -> str:
    return socket_database_url(user=user, password=password, name=database, directory=layout.sockets)
