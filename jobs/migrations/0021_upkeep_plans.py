"""Plans of a repository's upkeep, what became of their instants, and the runs that they ask for."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

KINDS = ("check", "prune", "forget")
OUTCOMES = ("ran", "skipped", "postponed", "coalesced", "paused", "expired", "no_free_instant")
OUTCOME_LABELS = ("Ran", "Skipped", "Postponed", "Coalesced", "Paused", "Expired", "No free instant")
RUN_KINDS = [
    ("backup", "Backup"),
    ("restore", "Restore"),
    ("check", "Check"),
    ("prune", "Prune"),
    ("forget", "Forget"),
    ("drill", "Restore drill"),
    ("copy", "Copy"),
]

PLAN = migrations.CreateModel(
    name="UpkeepPlan",
    fields=[
        ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
        ("kind", models.TextField(choices=RUN_KINDS)),
        ("definition", models.JSONField()),
        ("parameters", models.JSONField(blank=True, default=dict)),
        ("anchor", models.DateTimeField()),
        ("next_at", models.DateTimeField(blank=True, null=True)),
        ("flag", models.TextField(blank=True, default="")),
        ("created_at", models.DateTimeField()),
        ("deleted_at", models.DateTimeField(blank=True, null=True)),
        (
            "repository",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="upkeep",
                to="repositories.repository",
            ),
        ),
    ],
    options={
        "db_table": "upkeep_plans",
        "ordering": ["repository", "kind"],
        "indexes": [
            models.Index(condition=Q(next_at__isnull=False, flag=""), fields=["next_at", "id"], name="upkeep_plans_due")
        ],
        "constraints": [
            models.UniqueConstraint(
                condition=Q(deleted_at__isnull=True), fields=("repository", "kind"), name="upkeep_plans_one_per_kind"
            ),
            models.CheckConstraint(condition=Q(kind__in=KINDS), name="upkeep_plans_kind_is_upkeep"),
            models.CheckConstraint(
                condition=Q(deleted_at__isnull=True) | Q(next_at__isnull=True),
                name="upkeep_plans_deleted_is_never_due",
            ),
        ],
    },
)
DECISION = migrations.CreateModel(
    name="UpkeepDecision",
    fields=[
        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
        ("first_at", models.DateTimeField()),
        ("last_at", models.DateTimeField()),
        ("count", models.BigIntegerField()),
        ("count_is_minimum", models.BooleanField(default=False)),
        ("outcome", models.TextField(choices=list(zip(OUTCOMES, OUTCOME_LABELS, strict=True)))),
        ("reason_code", models.TextField()),
        ("run_id", models.UUIDField(blank=True, null=True)),
        ("created_at", models.DateTimeField()),
        (
            "upkeep",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="decisions",
                to="jobs.upkeepplan",
            ),
        ),
    ],
    options={
        "db_table": "upkeep_decisions",
        "ordering": ["upkeep", "-id"],
        "indexes": [models.Index(fields=["upkeep", "-id"], name="upkeep_decisions_by_age")],
        "constraints": [
            models.CheckConstraint(condition=Q(count__gte=1), name="upkeep_decisions_count_is_positive"),
            models.CheckConstraint(condition=Q(last_at__gte=F("first_at")), name="upkeep_decisions_range_is_ordered"),
            models.CheckConstraint(condition=Q(outcome__in=list(OUTCOMES)), name="upkeep_decisions_outcome_is_known"),
            models.CheckConstraint(condition=Q(reason_code__regex="\\S"), name="upkeep_decisions_has_a_reason"),
        ],
    },
)


class Migration(migrations.Migration):
    """Additive: runs that no plan asked for name none."""

    dependencies = [("jobs", "0020_restore_roots"), ("repositories", "0001_initial")]

    operations = [
        PLAN,
        DECISION,
        migrations.AddField(
            "run",
            "upkeep",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="runs",
                to="jobs.upkeepplan",
            ),
        ),
        migrations.RemoveConstraint("run", "runs_scheduled_has_a_schedule"),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                name="runs_scheduled_has_a_schedule",
                condition=~Q(trigger="schedule") | Q(schedule__isnull=False) | Q(upkeep__isnull=False),
            ),
        ),
        migrations.AddConstraint(
            "run",
            models.UniqueConstraint(
                name="runs_one_per_upkeep_instant",
                fields=["upkeep", "scheduled_for"],
                condition=Q(trigger="schedule"),
            ),
        ),
    ]
