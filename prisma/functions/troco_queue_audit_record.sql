-- version 1
-- Trigger of the audit log: queues each new record for lib/audit/link.ts.
CREATE OR REPLACE FUNCTION troco_queue_audit_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit_unlinked (record_id) VALUES (NEW.id);
  RETURN NULL;
END $$;
