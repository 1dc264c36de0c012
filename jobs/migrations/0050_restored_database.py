"""Where the rows are at home, so that a database restored from a dump knows itself."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """No row yet: the first pass writes it, in the database where the migration was made."""

    dependencies = [("jobs", "0030_zone_rules_of_rows"), ("repositories", "0030_control_plane")]

    operations = [
        migrations.CreateModel(
            name="DatabaseHome",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("system_identifier", models.BigIntegerField()),
                ("table_oid", models.BigIntegerField()),
                ("since", models.DateTimeField()),
            ],
            options={
                "db_table": "database_home",
                "constraints": [models.CheckConstraint(name="database_home_has_one_row", condition=Q(id=1))],
            },
        ),
    ]
