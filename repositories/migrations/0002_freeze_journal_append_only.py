"""Make the freeze journal append-only: the one change allowed is to clear a row that is open."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION repository_freezes_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.cleared_at IS NULL AND NEW.cleared_at IS NOT NULL
       AND (NEW.id, NEW.repository_id, NEW.frozen_at, NEW.frozen_by, NEW.reason, NEW.run_id)
           IS NOT DISTINCT FROM (OLD.id, OLD.repository_id, OLD.frozen_at, OLD.frozen_by, OLD.reason, OLD.run_id)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'repository_freezes is append-only: % refused', TG_OP
        USING ERRCODE = 'restrict_violation', CONSTRAINT = 'repository_freezes_is_append_only',
              TABLE = 'repository_freezes';
END $$;
CREATE TRIGGER repository_freezes_is_append_only
    BEFORE UPDATE OR DELETE ON repository_freezes
    FOR EACH ROW EXECUTE FUNCTION repository_freezes_refuse_change();
CREATE TRIGGER repository_freezes_is_never_truncated
    BEFORE TRUNCATE ON repository_freezes
    FOR EACH STATEMENT EXECUTE FUNCTION repository_freezes_refuse_change();
"""

BACKWARD = """
DROP TRIGGER repository_freezes_is_never_truncated ON repository_freezes;
DROP TRIGGER repository_freezes_is_append_only ON repository_freezes;
DROP FUNCTION repository_freezes_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("repositories", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
