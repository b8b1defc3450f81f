-- version 2
-- Fails a statement of a cached caller whose token or account has changed since. Called by
-- lib/rooms/tokens/recall.ts and lib/services/people/membership.ts. Raises an error, because an empty result could mean "not found".
-- A standby, such as a primary of before to which connections still lead, may lack what was acknowledged: it must not answer.
CREATE OR REPLACE FUNCTION troco_refuse_caller() RETURNS uuid LANGUAGE plpgsql AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'the database is a standby' USING ERRCODE = '25006';
  END IF;
  RAISE EXCEPTION 'the caller is no longer who was remembered' USING ERRCODE = 'TR401';
END $$;
