"""Make the tables of jobs, with everything that the database must hold about them."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("repositories", "0002_freeze_journal_append_only"),
    ]

    operations = [
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("name", models.TextField()),
                (
                    "priority",
                    models.TextField(
                        choices=[("low", "Low"), ("normal", "Normal"), ("high", "High"), ("critical", "Critical")],
                        default="normal",
                    ),
                ),
                ("bandwidth_limit_bps", models.BigIntegerField(blank=True, null=True)),
                ("strict", models.BooleanField(default=False)),
                ("max_attempts", models.PositiveSmallIntegerField(default=3)),
                ("rpo_seconds", models.BigIntegerField(blank=True, null=True)),
                ("start_deadline_seconds", models.BigIntegerField(blank=True, null=True)),
                ("max_runtime_seconds", models.BigIntegerField(blank=True, null=True)),
                ("revision_number", models.PositiveIntegerField(default=1)),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("last_run_id", models.UUIDField(blank=True, null=True)),
                (
                    "last_state",
                    models.TextField(
                        blank=True,
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("partial_failure", "Partial failure"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="",
                    ),
                ),
                ("last_finished_at", models.DateTimeField(blank=True, null=True)),
                ("last_succeeded_at", models.DateTimeField(blank=True, null=True)),
                (
                    "repository",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="jobs",
                        to="repositories.repository",
                    ),
                ),
            ],
            options={
                "db_table": "jobs",
                "ordering": [django.db.models.functions.text.Lower("name"), "id"],
            },
        ),
        migrations.CreateModel(
            name="JobRevision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("snapshot", models.JSONField()),
                ("created_at", models.DateTimeField()),
                ("created_by", models.TextField()),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="revisions",
                        to="jobs.job",
                    ),
                ),
            ],
            options={
                "db_table": "job_revisions",
                "ordering": ["job", "number"],
            },
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.TextField(
                        choices=[
                            ("backup", "Backup"),
                            ("restore", "Restore"),
                            ("check", "Check"),
                            ("prune", "Prune"),
                            ("forget", "Forget"),
                            ("drill", "Restore drill"),
                            ("copy", "Copy"),
                        ]
                    ),
                ),
                ("parameters", models.JSONField(blank=True, default=dict)),
                (
                    "priority",
                    models.TextField(
                        choices=[("low", "Low"), ("normal", "Normal"), ("high", "High"), ("critical", "Critical")],
                        default="normal",
                    ),
                ),
                (
                    "trigger",
                    models.TextField(
                        choices=[
                            ("schedule", "Schedule"),
                            ("manual", "By hand"),
                            ("retry", "Retry"),
                            ("requeue", "Queued again after a shutdown"),
                            ("external", "External"),
                        ]
                    ),
                ),
                ("requested_by", models.TextField()),
                ("attempt", models.PositiveSmallIntegerField(default=1)),
                ("requeues", models.PositiveSmallIntegerField(default=0)),
                (
                    "state",
                    models.TextField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("partial_failure", "Partial failure"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                    ),
                ),
                ("fence", models.BigIntegerField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("scheduled_for", models.DateTimeField()),
                ("not_before", models.DateTimeField()),
                ("admitted_at", models.DateTimeField(blank=True, null=True)),
                ("rings", models.PositiveSmallIntegerField(default=0)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("worker", models.TextField(blank=True, default="")),
                ("progress", models.JSONField(blank=True, null=True)),
                ("progress_at", models.DateTimeField(blank=True, null=True)),
                (
                    "held_code",
                    models.TextField(
                        blank=True,
                        choices=[
                            ("job_paused", "Job is paused"),
                            ("window", "Maintenance window"),
                            ("frozen", "Repository is frozen"),
                            ("breaker", "Repository keeps failing"),
                            ("repository_not_ready", "Repository is not ready"),
                            ("repository_limit", "Limit of the repository"),
                            ("serial_gate", "Serial gate of the repository"),
                            ("source_limit", "Limit of a source"),
                            ("source_reserved", "Source is kept for a run that waited longer"),
                            ("global_limit", "Limit of the installation"),
                            ("no_worker", "No worker of the group"),
                            ("no_slot", "No free slot"),
                            ("restore_slot", "The last slot is kept for restores"),
                            ("not_taken", "Not taken by the group"),
                            ("dependency", "Waits for another job"),
                            ("unstartable", "Cannot be prepared"),
                        ],
                        default="",
                    ),
                ),
                ("held_subject", models.TextField(blank=True, default="")),
                ("held_since", models.DateTimeField(blank=True, null=True)),
                ("cancel_requested_at", models.DateTimeField(blank=True, null=True)),
                (
                    "cancel_origin",
                    models.TextField(
                        blank=True,
                        choices=[
                            ("user", "Person"),
                            ("shutdown", "Shutdown of the worker"),
                            ("job_deleted", "Job deleted"),
                            ("job_paused", "Job paused"),
                            ("over_runtime", "Over runtime"),
                        ],
                        default="",
                    ),
                ),
                ("cancelled_by", models.TextField(blank=True, default="")),
                (
                    "failure_class",
                    models.TextField(
                        blank=True,
                        choices=[
                            ("transient", "Transient"),
                            ("network", "Network"),
                            ("repository", "Repository"),
                            ("source", "Source"),
                            ("authentication", "Authentication"),
                            ("integrity", "Integrity"),
                            ("security", "Security"),
                            ("configuration", "Configuration"),
                            ("start_deadline", "Start deadline"),
                            ("over_runtime", "Over runtime"),
                            ("hook", "Hook"),
                            ("unknown", "Unknown"),
                        ],
                        default="",
                    ),
                ),
                ("error_code", models.TextField(blank=True, default="")),
                ("error_message", models.TextField(blank=True, default="")),
                ("error_hint", models.TextField(blank=True, default="")),
                ("reason_code", models.TextField(blank=True, default="")),
                ("reason_parameters", models.JSONField(blank=True, default=dict)),
                ("files", models.BigIntegerField(default=0)),
                ("skipped", models.BigIntegerField(default=0)),
                ("warnings", models.BigIntegerField(default=0)),
                ("logical_bytes", models.BigIntegerField(default=0)),
                ("bytes_read", models.BigIntegerField(default=0)),
                ("bytes_stored", models.BigIntegerField(default=0)),
                ("log_bytes", models.BigIntegerField(default=0)),
                ("log_truncated", models.BooleanField(default=False)),
                (
                    "job",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="jobs.job",
                    ),
                ),
                (
                    "origin_run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="successors",
                        to="jobs.run",
                    ),
                ),
                (
                    "repository",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="repositories.repository",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="jobs.jobrevision",
                    ),
                ),
                (
                    "root_run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="chain",
                        to="jobs.run",
                    ),
                ),
            ],
            options={
                "db_table": "runs",
                "ordering": ["-created_at", "-id"],
            },
        ),
        migrations.CreateModel(
            name="RunEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("code", models.TextField()),
                ("from_state", models.TextField(blank=True, default="")),
                ("to_state", models.TextField(blank=True, default="")),
                ("fence", models.BigIntegerField(blank=True, null=True)),
                ("actor", models.TextField(blank=True, default="")),
                ("parameters", models.JSONField(blank=True, default=dict)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="jobs.run",
                    ),
                ),
            ],
            options={
                "db_table": "run_events",
                "ordering": ["run", "id"],
            },
        ),
        migrations.CreateModel(
            name="RunLogChunk",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sequence", models.PositiveIntegerField()),
                ("data", models.BinaryField()),
                ("lines", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log_chunks",
                        to="jobs.run",
                    ),
                ),
            ],
            options={
                "db_table": "run_log_chunks",
                "ordering": ["run", "sequence"],
            },
        ),
        migrations.CreateModel(
            name="Runner",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("kind", models.TextField(choices=[("group", "Worker group"), ("agent", "Agent")])),
                ("name", models.TextField()),
                ("source_roots", models.JSONField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "runners",
                "ordering": ["kind", django.db.models.functions.text.Lower("name")],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("kind"),
                        django.db.models.functions.text.Lower("name"),
                        name="runners_name_is_unique_per_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["group", "agent"])), name="runners_kind_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")),
                        name="runners_name_is_a_word",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="run",
            name="runner",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="jobs.runner"
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="runner",
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="jobs", to="jobs.runner"),
        ),
        migrations.CreateModel(
            name="Schedule",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.TextField(
                        choices=[
                            ("manual", "Manual"),
                            ("interval", "Interval"),
                            ("hourly", "Hourly"),
                            ("daily", "Daily"),
                            ("weekly", "Weekly"),
                            ("monthly", "Monthly"),
                            ("cron", "Cron"),
                        ]
                    ),
                ),
                ("definition", models.JSONField()),
                ("anchor", models.DateTimeField()),
                ("fingerprint", models.TextField()),
                ("next_at", models.DateTimeField(blank=True, null=True)),
                ("last_planned_at", models.DateTimeField(blank=True, null=True)),
                (
                    "missed",
                    models.TextField(
                        choices=[("once", "Run once"), ("once_within", "Run once within a time"), ("never", "Never")],
                        default="once",
                    ),
                ),
                ("missed_within_seconds", models.BigIntegerField(blank=True, null=True)),
                ("state", models.TextField(choices=[("active", "Active"), ("flagged", "Flagged")], default="active")),
                ("state_code", models.TextField(blank=True, default="")),
                ("state_parameters", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField()),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="schedules", to="jobs.job"
                    ),
                ),
            ],
            options={
                "db_table": "schedules",
                "ordering": ["job", "id"],
            },
        ),
        migrations.AddField(
            model_name="run",
            name="schedule",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="runs",
                to="jobs.schedule",
            ),
        ),
        migrations.CreateModel(
            name="ScheduleDecision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("count", models.BigIntegerField()),
                ("count_is_minimum", models.BooleanField(default=False)),
                (
                    "outcome",
                    models.TextField(
                        choices=[
                            ("ran", "Ran"),
                            ("skipped", "Skipped"),
                            ("postponed", "Postponed"),
                            ("coalesced", "Coalesced"),
                            ("paused", "Paused"),
                            ("expired", "Expired"),
                            ("no_free_instant", "No free instant"),
                        ]
                    ),
                ),
                ("reason_code", models.TextField()),
                ("parameters", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="jobs.run",
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="jobs.schedule",
                    ),
                ),
            ],
            options={
                "db_table": "schedule_decisions",
                "ordering": ["schedule", "-id"],
            },
        ),
        migrations.CreateModel(
            name="ScheduleEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("code", models.TextField()),
                ("parameters", models.JSONField(default=dict)),
                ("actor", models.TextField(blank=True, default="")),
                (
                    "schedule",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="jobs.schedule",
                    ),
                ),
            ],
            options={
                "db_table": "schedule_events",
                "ordering": ["schedule", "id"],
            },
        ),
        migrations.CreateModel(
            name="SchedulerState",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("last_pass_at", models.DateTimeField(blank=True, null=True)),
                ("observed_since", models.DateTimeField(blank=True, null=True)),
                ("requests_seen", models.BigIntegerField(default=0)),
            ],
            options={
                "db_table": "scheduler_state",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="scheduler_state_has_one_row")
                ],
            },
        ),
        migrations.CreateModel(
            name="Source",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("type", models.TextField(choices=[("filesystem", "Filesystem")])),
                ("normalised_id", models.BinaryField()),
                ("shown", models.TextField()),
                ("max_concurrent_runs", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                (
                    "runner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sources",
                        to="jobs.runner",
                    ),
                ),
            ],
            options={
                "db_table": "sources",
                "ordering": ["shown", "id"],
            },
        ),
        migrations.CreateModel(
            name="JobSource",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("excludes", models.JSONField(default=list)),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="job_sources",
                        to="jobs.job",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="job_sources", to="jobs.source"
                    ),
                ),
            ],
            options={
                "db_table": "job_sources",
                "ordering": ["job", "position"],
            },
        ),
        migrations.CreateModel(
            name="TaskRun",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("position", models.PositiveIntegerField()),
                (
                    "state",
                    models.TextField(
                        choices=[
                            ("pending", "Pending"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("partial_failure", "Partial failure"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="pending",
                    ),
                ),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "mode",
                    models.TextField(
                        blank=True, choices=[("full", "Full"), ("incremental", "Incremental")], default=""
                    ),
                ),
                ("backup_id", models.TextField(blank=True, default="")),
                ("parent_backup_id", models.TextField(blank=True, default="")),
                ("chain", models.TextField(blank=True, default="")),
                ("manifest_id", models.TextField(blank=True, default="")),
                (
                    "failure_class",
                    models.TextField(
                        blank=True,
                        choices=[
                            ("transient", "Transient"),
                            ("network", "Network"),
                            ("repository", "Repository"),
                            ("source", "Source"),
                            ("authentication", "Authentication"),
                            ("integrity", "Integrity"),
                            ("security", "Security"),
                            ("configuration", "Configuration"),
                            ("start_deadline", "Start deadline"),
                            ("over_runtime", "Over runtime"),
                            ("hook", "Hook"),
                            ("unknown", "Unknown"),
                        ],
                        default="",
                    ),
                ),
                ("error_code", models.TextField(blank=True, default="")),
                ("error_message", models.TextField(blank=True, default="")),
                ("error_hint", models.TextField(blank=True, default="")),
                ("problems", models.JSONField(blank=True, default=list)),
                ("files", models.BigIntegerField(default=0)),
                ("directories", models.BigIntegerField(default=0)),
                ("links", models.BigIntegerField(default=0)),
                ("others", models.BigIntegerField(default=0)),
                ("skipped", models.BigIntegerField(default=0)),
                ("warnings", models.BigIntegerField(default=0)),
                ("notes", models.BigIntegerField(default=0)),
                ("logical_bytes", models.BigIntegerField(default=0)),
                ("bytes_read", models.BigIntegerField(default=0)),
                ("bytes_stored", models.BigIntegerField(default=0)),
                ("new_chunks", models.BigIntegerField(default=0)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="task_runs",
                        to="jobs.run",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="task_runs",
                        to="jobs.source",
                    ),
                ),
            ],
            options={
                "db_table": "task_runs",
                "ordering": ["run", "position"],
            },
        ),
        migrations.CreateModel(
            name="Window",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("kind", models.TextField(choices=[("blackout", "Blackout"), ("allowed", "Allowed")])),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
                ),
                ("starts_at", models.DateTimeField(blank=True, null=True)),
                ("ends_at", models.DateTimeField(blank=True, null=True)),
                (
                    "days",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.SmallIntegerField(), blank=True, null=True, size=None
                    ),
                ),
                ("start_time", models.TimeField(blank=True, null=True)),
                ("length_seconds", models.PositiveIntegerField(blank=True, null=True)),
                ("time_zone", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField()),
                (
                    "job",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="windows",
                        to="jobs.job",
                    ),
                ),
                (
                    "repository",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="windows",
                        to="repositories.repository",
                    ),
                ),
            ],
            options={
                "db_table": "windows",
                "ordering": ["name", "id"],
            },
        ),
        migrations.CreateModel(
            name="WorkerProcess",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("host", models.TextField()),
                ("process_id", models.PositiveIntegerField()),
                ("slots", models.PositiveIntegerField()),
                ("draining", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField()),
                ("last_seen", models.DateTimeField()),
                (
                    "runner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="processes",
                        to="jobs.runner",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "worker processes",
                "db_table": "worker_processes",
                "ordering": ["runner", "host", "process_id"],
            },
        ),
        migrations.CreateModel(
            name="JobDependency",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField()),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="dependencies",
                        to="jobs.job",
                    ),
                ),
                (
                    "predecessor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="dependents", to="jobs.job"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "job dependencies",
                "db_table": "job_dependencies",
                "ordering": ["job", "id"],
                "constraints": [
                    models.UniqueConstraint(fields=("job", "predecessor"), name="job_dependencies_pair_once"),
                    models.CheckConstraint(
                        condition=models.Q(("job", models.F("predecessor")), _negated=True),
                        name="job_dependencies_never_on_itself",
                    ),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="jobrevision",
            constraint=models.UniqueConstraint(fields=("job", "number"), name="job_revisions_number_once_per_job"),
        ),
        migrations.AddConstraint(
            model_name="jobrevision",
            constraint=models.CheckConstraint(
                condition=models.Q(("number__gte", 1)), name="job_revisions_number_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="jobrevision",
            constraint=models.CheckConstraint(
                condition=models.Q(("created_by__regex", "\\S")), name="job_revisions_actor_is_not_blank"
            ),
        ),
        migrations.AddIndex(
            model_name="runevent",
            index=models.Index(fields=["run", "id"], name="run_events_by_run"),
        ),
        migrations.AddConstraint(
            model_name="runevent",
            constraint=models.CheckConstraint(
                condition=models.Q(("code__regex", "\\S")), name="run_events_code_is_not_blank"
            ),
        ),
        migrations.AddConstraint(
            model_name="runlogchunk",
            constraint=models.UniqueConstraint(fields=("run", "sequence"), name="run_log_chunks_sequence_once_per_run"),
        ),
        migrations.AddConstraint(
            model_name="runlogchunk",
            constraint=models.CheckConstraint(
                condition=models.Q(("data__length__gte", 1), ("data__length__lte", 65536)),
                name="run_log_chunks_have_1_byte_to_64_kib",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["repository"], name="jobs_by_repository"),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("name"),
                condition=models.Q(("deleted_at__isnull", True)),
                name="jobs_name_is_unique_while_kept",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(("name__regex", "\\S"), ("name__length__lte", 200)),
                name="jobs_name_has_1_to_200_chars",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(("priority__in", ["low", "normal", "high", "critical"])),
                name="jobs_priority_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("bandwidth_limit_bps__isnull", True), ("bandwidth_limit_bps__gt", 0), _connector="OR"
                ),
                name="jobs_bandwidth_is_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(("max_attempts__gte", 1), ("max_attempts__lte", 10)),
                name="jobs_attempts_are_1_to_10",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(("rpo_seconds__isnull", True), ("rpo_seconds__gt", 0), _connector="OR"),
                name="jobs_rpo_is_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("start_deadline_seconds__isnull", True), ("start_deadline_seconds__gt", 0), _connector="OR"
                ),
                name="jobs_start_deadline_is_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("max_runtime_seconds__isnull", True), ("max_runtime_seconds__gt", 0), _connector="OR"
                ),
                name="jobs_max_runtime_is_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(("revision_number__gte", 1)), name="jobs_revision_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("deleted_at__isnull", True), ("deleted_at__gte", models.F("created_at")), _connector="OR"
                ),
                name="jobs_deleted_after_creation",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("last_finished_at__isnull", True), ("last_run_id__isnull", True), ("last_state", "")),
                    models.Q(
                        ("last_finished_at__isnull", False),
                        ("last_run_id__isnull", False),
                        ("last_state__in", ("succeeded", "partial_failure", "failed", "cancelled")),
                    ),
                    _connector="OR",
                ),
                name="jobs_last_state_is_an_end",
            ),
        ),
        migrations.AddIndex(
            model_name="schedule",
            index=models.Index(
                condition=models.Q(("deleted_at__isnull", True), ("next_at__isnull", False), ("state", "active")),
                fields=["next_at", "id"],
                name="schedules_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["manual", "interval", "hourly", "daily", "weekly", "monthly", "cron"])
                ),
                name="schedules_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["active", "flagged"])), name="schedules_state_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(("missed__in", ["once", "once_within", "never"])), name="schedules_missed_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("missed", "once_within"),
                        ("missed_within_seconds__gt", 0),
                        ("missed_within_seconds__isnull", False),
                    ),
                    models.Q(
                        models.Q(("missed", "once_within"), _negated=True), ("missed_within_seconds__isnull", True)
                    ),
                    _connector="OR",
                ),
                name="schedules_missed_within_has_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "manual"), _negated=True), ("next_at__isnull", True), _connector="OR"
                ),
                name="schedules_manual_is_never_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(models.Q(("state", "flagged"), _negated=True), ("state_code__gt", ""), _connector="OR"),
                    models.Q(("state_code", ""), ("state", "flagged"), _connector="OR"),
                ),
                name="schedules_flagged_has_a_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(("deleted_at__isnull", True), ("next_at__isnull", True), _connector="OR"),
                name="schedules_deleted_is_never_due",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["-created_at", "-id"], name="runs_by_age"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["job", "-created_at", "-id"], name="runs_by_job"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["repository", "-created_at", "-id"], name="runs_by_repository"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("admitted_at__isnull", True), ("state", "queued")),
                fields=["not_before", "id"],
                name="runs_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("admitted_at__isnull", False), ("state", "queued")),
                fields=["admitted_at"],
                name="runs_admitted",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("state", "running")), fields=["heartbeat_at"], name="runs_running"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["backup", "restore", "check", "prune", "forget", "drill", "copy"])),
                name="runs_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["queued", "running", "succeeded", "partial_failure", "failed", "cancelled"])
                ),
                name="runs_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("trigger__in", ["schedule", "manual", "retry", "requeue", "external"])),
                name="runs_trigger_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("priority__in", ["low", "normal", "high", "critical"])),
                name="runs_priority_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("failure_class", ""),
                    (
                        "failure_class__in",
                        [
                            "transient",
                            "network",
                            "repository",
                            "source",
                            "authentication",
                            "integrity",
                            "security",
                            "configuration",
                            "start_deadline",
                            "over_runtime",
                            "hook",
                            "unknown",
                        ],
                    ),
                    _connector="OR",
                ),
                name="runs_failure_class_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("cancel_origin", ""),
                    ("cancel_origin__in", ["user", "shutdown", "job_deleted", "job_paused", "over_runtime"]),
                    _connector="OR",
                ),
                name="runs_cancel_origin_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("held_code", ""), ("held_since__isnull", True), ("held_subject", "")),
                    models.Q(
                        (
                            "held_code__in",
                            [
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
                                "unstartable",
                            ],
                        ),
                        ("held_since__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="runs_held_reason_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ("queued", "running")), ("job__isnull", False)),
                fields=("job",),
                name="runs_one_active_per_job",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ("queued", "running")), ("kind__in", ("check", "prune", "forget"))),
                fields=("repository", "kind"),
                name="runs_one_active_upkeep",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("trigger", "schedule")),
                fields=("schedule", "scheduled_for"),
                name="runs_one_per_schedule_instant",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("fence__isnull", False)), fields=("fence",), name="runs_fence_is_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("job__isnull", False), ("kind", "backup")),
                    models.Q(models.Q(("kind", "backup"), _negated=True), ("job__isnull", True)),
                    _connector="OR",
                ),
                name="runs_only_backup_has_a_job",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("trigger", "schedule"), _negated=True), ("schedule__isnull", False), _connector="OR"
                ),
                name="runs_scheduled_has_a_schedule",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("trigger__in", ("retry", "requeue")), _negated=True),
                    models.Q(("origin_run__isnull", False), ("root_run__isnull", False)),
                    _connector="OR",
                ),
                name="runs_successor_has_an_origin",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("attempt__gte", 1), ("attempt__lte", 10)), name="runs_attempt_is_1_to_10"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("requeues__lte", 3)), name="runs_requeues_are_at_most_3"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("fence__isnull", True), ("fence__gte", 1), _connector="OR"),
                name="runs_fence_is_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "queued"), _negated=True),
                    models.Q(("heartbeat_at__isnull", True), ("started_at__isnull", True), ("worker", "")),
                    _connector="OR",
                ),
                name="runs_queued_has_not_started",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("admitted_at__isnull", True), ("fence__isnull", False), _connector="OR"),
                name="runs_admitted_has_a_fence",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "backup"), _negated=True),
                    ("admitted_at__isnull", True),
                    ("revision__isnull", False),
                    _connector="OR",
                ),
                name="runs_admitted_backup_has_a_revision",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "running"), _negated=True),
                    models.Q(
                        ("admitted_at__isnull", False),
                        ("heartbeat_at__isnull", False),
                        ("started_at__isnull", False),
                        ("worker__gt", ""),
                    ),
                    _connector="OR",
                ),
                name="runs_running_was_admitted",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ("succeeded", "partial_failure")), _negated=True),
                    ("started_at__isnull", False),
                    _connector="OR",
                ),
                name="runs_succeeded_was_started",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("state__in", ("succeeded", "partial_failure", "failed", "cancelled")),
                        ("finished_at__isnull", False),
                    ),
                    models.Q(
                        models.Q(("state__in", ("succeeded", "partial_failure", "failed", "cancelled")), _negated=True),
                        ("finished_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="runs_finished_has_an_end",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("finished_at__isnull", True),
                    ("started_at__isnull", True),
                    ("finished_at__gte", models.F("started_at")),
                    _connector="OR",
                ),
                name="runs_end_is_not_before_start",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("not_before__gte", models.F("scheduled_for"))), name="runs_not_before_its_instant"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("requested_by__regex", "\\S")), name="runs_requested_by_somebody"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("error_code__gt", ""), ("failure_class__gt", ""), ("state", "failed")),
                    models.Q(models.Q(("state", "failed"), _negated=True), ("failure_class", "")),
                    _connector="OR",
                ),
                name="runs_failed_has_a_failure_class",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("skipped", 0), models.Q(("state", "succeeded"), _negated=True), _connector="OR"),
                name="runs_skipped_is_never_succeeded",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "cancelled"), _negated=True), ("cancel_origin__gt", ""), _connector="OR"
                ),
                name="runs_cancelled_has_an_origin",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("cancel_requested_at__isnull", True), ("cancel_origin__gt", ""), _connector="OR"),
                name="runs_cancel_request_has_an_origin",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("files__gte", 0),
                    ("skipped__gte", 0),
                    ("warnings__gte", 0),
                    ("logical_bytes__gte", 0),
                    ("bytes_read__gte", 0),
                    ("bytes_stored__gte", 0),
                ),
                name="runs_figures_are_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("log_bytes__gte", 0), ("log_bytes__lte", 4194304)), name="runs_log_is_at_most_4_mib"
            ),
        ),
        migrations.AddIndex(
            model_name="scheduledecision",
            index=models.Index(fields=["schedule", "-id"], name="schedule_decisions_by_age"),
        ),
        migrations.AddConstraint(
            model_name="scheduledecision",
            constraint=models.CheckConstraint(
                condition=models.Q(("count__gte", 1)), name="schedule_decisions_count_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledecision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("last_at__gt", models.F("first_at")),
                    models.Q(("count", 1), ("last_at", models.F("first_at"))),
                    _connector="OR",
                ),
                name="schedule_decisions_range_is_ordered",
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledecision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "outcome__in",
                        ["ran", "skipped", "postponed", "coalesced", "paused", "expired", "no_free_instant"],
                    )
                ),
                name="schedule_decisions_outcome_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledecision",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason_code__regex", "\\S")), name="schedule_decisions_has_a_reason"
            ),
        ),
        migrations.AddConstraint(
            model_name="scheduledecision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("outcome", "ran"), _negated=True), ("run__isnull", False), _connector="OR"
                ),
                name="schedule_decisions_ran_names_its_run",
            ),
        ),
        migrations.AddIndex(
            model_name="scheduleevent",
            index=models.Index(fields=["schedule", "id"], name="schedule_events_by_schedule"),
        ),
        migrations.AddConstraint(
            model_name="scheduleevent",
            constraint=models.CheckConstraint(
                condition=models.Q(("code__regex", "\\S")), name="schedule_events_code_is_not_blank"
            ),
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.UniqueConstraint(
                fields=("runner", "type", "normalised_id"), name="sources_once_per_runner"
            ),
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.CheckConstraint(
                condition=models.Q(("type__in", ["filesystem"])), name="sources_type_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.CheckConstraint(
                condition=models.Q(("normalised_id__length__gte", 1), ("normalised_id__length__lte", 2000)),
                name="sources_id_has_1_to_2000_bytes",
            ),
        ),
        migrations.AddConstraint(
            model_name="source",
            constraint=models.CheckConstraint(
                condition=models.Q(("max_concurrent_runs__gte", 1)), name="sources_run_limit_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="jobsource",
            constraint=models.UniqueConstraint(fields=("job", "source"), name="job_sources_source_once_per_job"),
        ),
        migrations.AddConstraint(
            model_name="jobsource",
            constraint=models.UniqueConstraint(fields=("job", "position"), name="job_sources_position_once_per_job"),
        ),
        migrations.AddIndex(
            model_name="taskrun",
            index=models.Index(fields=["source", "-finished_at"], name="task_runs_by_source"),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.UniqueConstraint(fields=("run", "source"), name="task_runs_source_once_per_run"),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.UniqueConstraint(fields=("run", "position"), name="task_runs_position_once_per_run"),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["pending", "running", "succeeded", "partial_failure", "failed", "cancelled"])
                ),
                name="task_runs_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(("mode", ""), ("mode__in", ["full", "incremental"]), _connector="OR"),
                name="task_runs_mode_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("failure_class", ""),
                    (
                        "failure_class__in",
                        [
                            "transient",
                            "network",
                            "repository",
                            "source",
                            "authentication",
                            "integrity",
                            "security",
                            "configuration",
                            "start_deadline",
                            "over_runtime",
                            "hook",
                            "unknown",
                        ],
                    ),
                    _connector="OR",
                ),
                name="task_runs_failure_class_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("state__in", ("succeeded", "partial_failure", "failed", "cancelled")),
                        ("finished_at__isnull", False),
                    ),
                    models.Q(
                        models.Q(("state__in", ("succeeded", "partial_failure", "failed", "cancelled")), _negated=True),
                        ("finished_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="task_runs_finished_has_an_end",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("finished_at__isnull", True),
                    ("started_at__isnull", True),
                    ("finished_at__gte", models.F("started_at")),
                    _connector="OR",
                ),
                name="task_runs_end_is_not_before_start",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("error_code__gt", ""), ("failure_class__gt", ""), ("state", "failed")),
                    models.Q(models.Q(("state", "failed"), _negated=True), ("failure_class", "")),
                    _connector="OR",
                ),
                name="task_runs_failed_has_a_failure_class",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ("succeeded", "partial_failure")), _negated=True),
                    models.Q(("backup_id__gt", ""), ("manifest_id__gt", ""), ("mode__gt", "")),
                    _connector="OR",
                ),
                name="task_runs_success_has_a_backup",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(("skipped", 0), models.Q(("state", "succeeded"), _negated=True), _connector="OR"),
                name="task_runs_skipped_is_never_succeeded",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("mode", "incremental"), _negated=True), ("parent_backup_id__gt", ""), _connector="OR"
                ),
                name="task_runs_incremental_needs_a_parent",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("files__gte", 0),
                    ("directories__gte", 0),
                    ("links__gte", 0),
                    ("others__gte", 0),
                    ("skipped__gte", 0),
                    ("warnings__gte", 0),
                    ("notes__gte", 0),
                    ("logical_bytes__gte", 0),
                    ("bytes_read__gte", 0),
                    ("bytes_stored__gte", 0),
                    ("new_chunks__gte", 0),
                ),
                name="task_runs_figures_are_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="window",
            constraint=models.CheckConstraint(
                condition=models.Q(("name__regex", "\\S")), name="windows_name_is_not_blank"
            ),
        ),
        migrations.AddConstraint(
            model_name="window",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["blackout", "allowed"])), name="windows_kind_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="window",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kinds__contained_by", ["backup", "restore", "check", "prune", "forget", "drill", "copy"]),
                    ("kinds__len__gt", 0),
                ),
                name="windows_run_kinds_are_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="window",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("days__isnull", True),
                        ("ends_at__isnull", False),
                        ("length_seconds__isnull", True),
                        ("start_time__isnull", True),
                        ("starts_at__isnull", False),
                        ("time_zone", ""),
                    ),
                    models.Q(
                        ("days__isnull", False),
                        ("ends_at__isnull", True),
                        ("length_seconds__isnull", False),
                        ("start_time__isnull", False),
                        ("starts_at__isnull", True),
                        ("time_zone__gt", ""),
                    ),
                    _connector="OR",
                ),
                name="windows_one_off_or_recurring",
            ),
        ),
        migrations.AddConstraint(
            model_name="window",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends_at__isnull", True), ("ends_at__gt", models.F("starts_at")), _connector="OR"),
                name="windows_end_after_start",
            ),
        ),
        migrations.AddConstraint(
            model_name="window",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("length_seconds__isnull", True),
                    models.Q(("length_seconds__gt", 0), ("length_seconds__lte", 604800)),
                    _connector="OR",
                ),
                name="windows_length_is_at_most_7_days",
            ),
        ),
        migrations.AddConstraint(
            model_name="window",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("days__isnull", True),
                    models.Q(("days__contained_by", [1, 2, 3, 4, 5, 6, 7]), ("days__len__gt", 0)),
                    _connector="OR",
                ),
                name="windows_days_are_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="window",
            constraint=models.CheckConstraint(
                condition=models.Q(("repository__isnull", True), ("job__isnull", True), _connector="OR"),
                name="windows_has_one_level",
            ),
        ),
        migrations.AddConstraint(
            model_name="workerprocess",
            constraint=models.UniqueConstraint(
                fields=("runner", "host", "process_id"), name="worker_processes_once_per_process"
            ),
        ),
        migrations.AddConstraint(
            model_name="workerprocess",
            constraint=models.CheckConstraint(
                condition=models.Q(("slots__gte", 1)), name="worker_processes_slots_are_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="workerprocess",
            constraint=models.CheckConstraint(
                condition=models.Q(("host__regex", "\\S")), name="worker_processes_host_is_not_blank"
            ),
        ),
        migrations.AddConstraint(
            model_name="workerprocess",
            constraint=models.CheckConstraint(
                condition=models.Q(("last_seen__gte", models.F("started_at"))), name="worker_processes_seen_after_start"
            ),
        ),
    ]
