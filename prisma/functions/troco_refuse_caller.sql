-- version 2
-- Fails a statement of a cached caller whose token or account has changed since, and any on a standby: a former primary, to which
-- connections may still lead, can lack what was acknowledged. Called by lib/tokens/authenticate.ts, lib/accounts/members.ts
-- and lib/payer/charge.ts. Raises an error, because an empty result could mean "not found".
CREATE OR REPLACE FUNCTION troco_refuse_caller() RETURNS uuid LANGUAGE plpgsql AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'the database is a standby' USING ERRCODE = '25006';
  END IF;
  RAISE EXCEPTION 'the caller is no longer who was remembered' USING ERRCODE = 'TR401';
END $$;
