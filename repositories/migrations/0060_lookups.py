"""Lookups into backups, and the list of all backups by age, also of those that lack something."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

STATES = [("waiting", "Waiting"), ("running", "Running"), ("answered", "Answered"), ("failed", "Failed")]


class Migration(migrations.Migration):
    """Additive."""

    dependencies = [("repositories", "0030_control_plane")]

    operations = [
        migrations.CreateModel(
            "RepositoryLookup",
            [
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lookups",
                        to="repositories.repository",
                    ),
                ),
                ("backup_id", models.TextField()),
                ("worker_group", models.TextField()),
                ("operation", models.TextField()),
                ("question", models.TextField()),
                ("question_digest", models.TextField()),
                ("state", models.TextField(choices=STATES, default="waiting")),
                ("worker", models.TextField(blank=True, default="")),
                ("sealed_answer", models.BinaryField(blank=True, null=True)),
                ("error_code", models.TextField(blank=True, default="")),
                ("error_message", models.TextField(blank=True, default="")),
                ("error_hint", models.TextField(blank=True, default="")),
                ("asked_at", models.DateTimeField()),
                ("rung_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField()),
            ],
            options={"db_table": "repository_lookups", "ordering": ["id"]},
        ),
        migrations.AddIndex(
            "repositorylookup",
            models.Index(
                condition=Q(state__in=["waiting", "running"]),
                fields=["worker_group", "id"],
                name="repository_lookups_to_do",
            ),
        ),
        migrations.AddIndex("repositorylookup", models.Index(fields=["expires_at"], name="repository_lookups_by_end")),
        *(
            migrations.AddConstraint("repositorylookup", constraint)
            for constraint in (
                models.UniqueConstraint(
                    name="repository_lookups_once_per_question",
                    fields=["question_digest"],
                    condition=~Q(state="failed"),
                ),
                models.UniqueConstraint(
                    name="repository_lookups_one_running_per_worker", fields=["worker"], condition=Q(state="running")
                ),
                models.CheckConstraint(
                    name="repository_lookups_state_is_known",
                    condition=Q(state__in=["waiting", "running", "answered", "failed"]),
                ),
                models.CheckConstraint(
                    name="repository_lookups_question_is_bounded",
                    condition=Q(question__length__lte=16384) & Q(operation__in=["browse", "find"]),
                ),
                models.CheckConstraint(
                    name="repository_lookups_answered_has_a_bounded_answer",
                    condition=Q(sealed_answer__isnull=True) & ~Q(state="answered")
                    | Q(sealed_answer__isnull=False, sealed_answer__length__range=(33, 1048576), state="answered"),
                ),
                models.CheckConstraint(
                    name="repository_lookups_failed_says_why",
                    condition=~Q(state="failed") | Q(error_code__gt="", error_message__gt=""),
                ),
                models.CheckConstraint(
                    name="repository_lookups_running_says_who",
                    condition=~Q(state="running") | Q(worker__gt="", started_at__isnull=False),
                ),
                models.CheckConstraint(
                    name="repository_lookups_expires_after_asked", condition=Q(expires_at__gt=F("asked_at"))
                ),
            )
        ),
        migrations.AddIndex("backup", models.Index(fields=["-created_at", "-id"], name="backups_newest")),
        migrations.AddIndex(
            "backup",
            models.Index(fields=["-created_at", "-id"], name="backups_partial", condition=Q(skipped__gt=0)),
        ),
    ]
