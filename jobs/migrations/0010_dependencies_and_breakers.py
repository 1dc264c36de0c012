"""Dependencies and breakers come into force: no cycle whoever writes, each reason of its own, runs that may ignore them."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

HELD_CODES = (
    "job_paused",
    "window",
    "frozen",
    "breaker",
    "repository_not_ready",
    "repository_limit",
    "serial_gate",
    "source_limit",
    "source_reserved",
    "global_limit",
    "no_worker",
    "no_slot",
    "restore_slot",
    "not_taken",
    "dependency",
    "dependency_paused",
    "dependency_never_ran",
    "dependency_failed",
    "unstartable",
)
HELD_LABELS = (
    "Job is paused",
    "Maintenance window",
    "Repository is frozen",
    "Repository keeps failing",
    "Repository is not ready",
    "Limit of the repository",
    "Serial gate of the repository",
    "Limit of a source",
    "Source is kept for a run that waited longer",
    "Limit of the installation",
    "No worker of the group",
    "No free slot",
    "The last slot is kept for restores",
    "Not taken by the group",
    "Run of another job",
    "Paused run of another job",
    "First run of another job",
    "Success of another job",
    "Cannot be prepared",
)

# After the statement, so that the plainer constraints speak first; the lock is jobs.dependencies.GRAPH_LOCK. The query
# is a statement of its own: it sees what another transaction committed while the lock was waited for.
NO_CYCLE = """
CREATE FUNCTION job_dependencies_refuse_cycle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7365002);
    IF EXISTS (
        WITH RECURSIVE earlier (id) AS (
            SELECT NEW.predecessor_id
            UNION
            SELECT further.predecessor_id
            FROM job_dependencies AS further JOIN earlier ON further.job_id = earlier.id
        )
        SELECT 1 FROM earlier WHERE earlier.id = NEW.job_id
    ) THEN
        RAISE EXCEPTION 'job % would wait for itself', NEW.job_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'job_dependencies_have_no_cycle',
                  TABLE = 'job_dependencies';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER job_dependencies_have_no_cycle
    AFTER INSERT OR UPDATE ON job_dependencies FOR EACH ROW EXECUTE FUNCTION job_dependencies_refuse_cycle();
"""
CYCLES_AGAIN = """
DROP TRIGGER job_dependencies_have_no_cycle ON job_dependencies;
DROP FUNCTION job_dependencies_refuse_cycle();
"""

BREAKER_CONSTRAINTS = [
    models.CheckConstraint(
        name="repository_breakers_open_has_an_end",
        condition=Q(trips=0, open_until__isnull=True) | Q(trips__gte=1, open_until__isnull=False),
    ),
    models.CheckConstraint(name="repository_breakers_opens_after_failures", condition=Q(trips=0) | Q(failures__gte=3)),
    models.CheckConstraint(
        name="repository_breakers_names_its_failure",
        condition=Q(failures=0, error_code="") | Q(failures__gte=1, error_code__gt=""),
    ),
]


class Migration(migrations.Migration):
    """Processes that do not know the new column yet leave it at its default."""

    dependencies = [("jobs", "0006_zone_rules"), ("repositories", "0001_initial")]

    operations = [
        migrations.AddField("run", "ignore_dependencies", models.BooleanField(default=False, db_default=False)),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                name="runs_dependencies_are_ignored_by_hand",
                condition=Q(ignore_dependencies=False) | Q(kind="backup") & ~Q(trigger="schedule"),
            ),
        ),
        migrations.AlterField(
            "run",
            "held_code",
            models.TextField(blank=True, choices=list(zip(HELD_CODES, HELD_LABELS, strict=True)), default=""),
        ),
        migrations.RemoveConstraint("run", "runs_held_reason_is_known"),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                name="runs_held_reason_is_known",
                condition=Q(held_code="", held_since__isnull=True, held_subject="")
                | Q(held_code__in=list(HELD_CODES), held_since__isnull=False),
            ),
        ),
        migrations.RunSQL(NO_CYCLE, CYCLES_AGAIN),
        migrations.CreateModel(
            name="RepositoryBreaker",
            fields=[
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="breaker",
                        serialize=False,
                        to="repositories.repository",
                    ),
                ),
                ("failures", models.PositiveIntegerField(default=0)),
                ("trips", models.PositiveIntegerField(default=0)),
                ("open_until", models.DateTimeField(blank=True, null=True)),
                ("error_code", models.TextField(blank=True, default="")),
                ("updated_at", models.DateTimeField()),
            ],
            options={"db_table": "repository_breakers", "ordering": ["repository"], "constraints": BREAKER_CONSTRAINTS},
        ),
    ]
