"""Which cluster and table this database's rows were made in: how a dump that was restored elsewhere knows itself.

Owns the one row. `table_oid` is that of this very table: every restore makes it anew, also into the same database.
"""

from django.db import models
from django.db.models import Q


class DatabaseHome(models.Model):
    """Where the rows were at home when a pass last looked."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    system_identifier = models.BigIntegerField()
    table_oid = models.BigIntegerField()
    since = models.DateTimeField()

    class Meta:
        db_table = "database_home"
        constraints = [models.CheckConstraint(name="database_home_has_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return "database home"
