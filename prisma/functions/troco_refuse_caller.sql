-- version 3
-- Fails a statement whose token, account or member has changed since the look-up, and any on a standby: a former primary, to which
-- connections may still lead, can lack what was acknowledged. Called by lib/tokens/authenticate.ts, lib/accounts/members.ts,
-- lib/db/sql.ts and lib/payer/charge.ts. Raises an error, because an empty result could mean "not found".
CREATE OR REPLACE FUNCTION troco_refuse_caller() RETURNS uuid LANGUAGE plpgsql AS $$
BEGIN
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'the database is a standby' USING ERRCODE = '25006';
  END IF;
  RAISE EXCEPTION 'the caller has changed since the look-up' USING ERRCODE = 'TR401';
END $$;
