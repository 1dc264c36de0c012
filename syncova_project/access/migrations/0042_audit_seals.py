"""Seals over the audit trail, and the indexes that answer its list."""

from django.db import migrations, models

# Entries get their number before they commit, so "later than the last sealed one" would leave some out for ever.
FORWARD = """
CREATE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER audit_seals_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seals
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER audit_seal_marks_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seal_marks
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE FUNCTION audit_entries_await_seal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_unsealed_entries (entry_id) VALUES (NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER audit_entries_wait_for_seals AFTER INSERT ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION audit_entries_await_seal();
INSERT INTO audit_unsealed_entries (entry_id) SELECT id FROM audit_entries;
"""
BACKWARD = """
DROP TRIGGER audit_entries_wait_for_seals ON audit_entries;
DROP FUNCTION audit_entries_await_seal();
DROP TRIGGER audit_seal_marks_is_append_only ON audit_seal_marks;
DROP TRIGGER audit_seals_is_append_only ON audit_seals;
DROP FUNCTION audit_refuse_change();
"""


class Migration(migrations.Migration):
    """Entries that are there already are sealed by the first passes."""

    dependencies = [("access", "0041_ready_groups")]

    operations = [
        migrations.CreateModel(
            name="UnsealedEntry",
            fields=[("entry_id", models.BigIntegerField(primary_key=True, serialize=False))],
            options={"db_table": "audit_unsealed_entries"},
        ),
        migrations.CreateModel(
            name="AuditSeal",
            fields=[
                ("position", models.BigIntegerField(primary_key=True, serialize=False)),
                ("entry_id", models.BigIntegerField(unique=True)),
                ("digest", models.BinaryField()),
                ("previous", models.BinaryField()),
                ("sealed_at", models.DateTimeField()),
            ],
            options={
                "db_table": "audit_seals",
                "ordering": ["position"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("position__gt", 0)), name="audit_seals_position_is_positive"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("digest__length", 32)), name="audit_seals_digest_has_32_bytes"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("previous__length", 32)), name="audit_seals_previous_has_32_bytes"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditSealMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.BigIntegerField()),
                ("seal", models.BinaryField()),
                ("told_at", models.DateTimeField()),
            ],
            options={
                "db_table": "audit_seal_marks",
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("seal__length", 32)), name="audit_seal_marks_seal_has_32_bytes"
                    )
                ],
            },
        ),
        migrations.RemoveIndex(model_name="auditentry", name="audit_entries_by_subject"),
        migrations.AddIndex("auditentry", models.Index(fields=["-at", "-id"], name="audit_entries_by_time")),
        migrations.AddIndex("auditentry", models.Index(fields=["actor", "-at", "-id"], name="audit_entries_by_actor")),
        migrations.AddIndex(
            "auditentry", models.Index(fields=["action", "-at", "-id"], name="audit_entries_by_action")
        ),
        migrations.AddIndex(
            "auditentry",
            models.Index(fields=["subject_type", "subject_id", "-at", "-id"], name="audit_entries_of_subject"),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
