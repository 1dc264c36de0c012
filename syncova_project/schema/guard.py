"""Refuses to let a server start on a database that does not fit (H9); a database that is away is asked later.

Owns the asking. Each process asks once: what is migrated while it runs is made so that the release before can go on.
"""

import logging

from django.db import Error, connection

from syncova_project.database_faults import is_away
from syncova_project.schema.judgement import unfit
from syncova_project.schema.record import read_standing

log = logging.getLogger(__name__)

_fits = False


def require_fitting_schema() -> None:
    """Return if this process may work on the database, at once when it was found so before.

    Raises SchemaNewerError, SchemaInterruptedError, SchemaOutdatedError, and Django's errors of an absent database.
    """
    global _fits
    if _fits:
        return
    problem = unfit(read_standing(connection))
    if problem is not None:
        raise problem
    _fits = True


def require_fitting_schema_if_reachable() -> None:
    """Do the same at the start of a process; where the database does not answer, whoever uses it first asks again."""
    try:
        require_fitting_schema()
    except Error as error:
        if not is_away(error):
            raise
        log.warning("The schema could not be looked at, the database does not answer: %s", type(error).__name__)
    finally:
        # A server forks, or makes threads: each opens a connection of its own.
        connection.close()
