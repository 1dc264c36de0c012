"""Make the audit trail append-only: UPDATE, DELETE and TRUNCATE are refused, whoever asks."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION audit_entries_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_entries is append-only: % refused', TG_OP
        USING ERRCODE = 'restrict_violation', CONSTRAINT = 'audit_entries_is_append_only', TABLE = 'audit_entries';
END $$;
CREATE TRIGGER audit_entries_is_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION audit_entries_refuse_change();
"""

BACKWARD = """
DROP TRIGGER audit_entries_is_append_only ON audit_entries;
DROP FUNCTION audit_entries_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("access", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
