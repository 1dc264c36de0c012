"""A group of people is not deleted while a limit of sight hangs on it: its members would see all from then on."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """The foreign key has refused it all along; now nothing deletes the limit before."""

    dependencies = [("access", "0046_sight_of_people")]

    operations = [
        migrations.AlterField(
            model_name="sightlimit",
            name="group",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="auth.group",
            ),
        ),
    ]
