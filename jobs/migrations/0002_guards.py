"""Keep ends, revisions and events as they are, and make the sequences of fences and pass requests."""

from django.db import migrations

FORWARD = """
CREATE SEQUENCE run_fences AS bigint;
CREATE SEQUENCE pass_requests AS bigint;

CREATE FUNCTION runs_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'running' AND NEW.state = 'queued' THEN
        RAISE EXCEPTION 'run % is running and cannot be queued again', OLD.id
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'runs_running_never_goes_back', TABLE = 'runs';
    END IF;
    IF OLD.state IN ('succeeded', 'partial_failure', 'failed', 'cancelled')
       AND (NEW.state, NEW.kind, NEW.job_id, NEW.repository_id, NEW.revision_id, NEW.attempt, NEW.fence,
            NEW.scheduled_for, NEW.started_at, NEW.finished_at, NEW.cancel_requested_at, NEW.cancel_origin,
            NEW.failure_class, NEW.error_code, NEW.error_message, NEW.reason_code, NEW.reason_parameters,
            NEW.files, NEW.skipped, NEW.warnings, NEW.logical_bytes, NEW.bytes_read, NEW.bytes_stored)
           IS DISTINCT FROM
           (OLD.state, OLD.kind, OLD.job_id, OLD.repository_id, OLD.revision_id, OLD.attempt, OLD.fence,
            OLD.scheduled_for, OLD.started_at, OLD.finished_at, OLD.cancel_requested_at, OLD.cancel_origin,
            OLD.failure_class, OLD.error_code, OLD.error_message, OLD.reason_code, OLD.reason_parameters,
            OLD.files, OLD.skipped, OLD.warnings, OLD.logical_bytes, OLD.bytes_read, OLD.bytes_stored)
    THEN
        RAISE EXCEPTION 'run % has ended as %, which is final', OLD.id, OLD.state
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'runs_finished_is_final', TABLE = 'runs';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER runs_finished_is_final
    BEFORE UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION runs_refuse_change();

CREATE FUNCTION jobs_refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER job_revisions_is_append_only
    BEFORE UPDATE OR DELETE ON job_revisions FOR EACH ROW EXECUTE FUNCTION jobs_refuse_rewriting();
CREATE TRIGGER run_events_is_append_only
    BEFORE UPDATE OR DELETE ON run_events FOR EACH ROW EXECUTE FUNCTION jobs_refuse_rewriting();
"""

BACKWARD = """
DROP TRIGGER run_events_is_append_only ON run_events;
DROP TRIGGER job_revisions_is_append_only ON job_revisions;
DROP FUNCTION jobs_refuse_rewriting();
DROP TRIGGER runs_finished_is_final ON runs;
DROP FUNCTION runs_refuse_change();
DROP SEQUENCE pass_requests;
DROP SEQUENCE run_fences;
"""


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
