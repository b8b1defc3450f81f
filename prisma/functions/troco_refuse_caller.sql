-- version 1
-- Fails a statement of a cached caller whose token or account has changed since. Called by
-- lib/rooms/tokens/recall.ts and lib/services/people/membership.ts. Raises an error, because an empty result could mean "not found".
CREATE OR REPLACE FUNCTION troco_refuse_caller() RETURNS uuid LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the caller is no longer who was remembered' USING ERRCODE = 'TR401';
END $$;
