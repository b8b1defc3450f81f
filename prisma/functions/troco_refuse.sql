-- version 2
-- Fails a statement that breaks a rule, so that the idempotency key of its request is not stored
-- either. The message is the refusal as JSON, with code and parameters only.
-- Called by lib/charges/create.ts and lib/charges/refunds/refund.ts, read by lib/core/errors.ts.
CREATE OR REPLACE FUNCTION troco_refuse(code text, params json DEFAULT '{}') RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', json_build_object('code', code, 'params', params) USING ERRCODE = 'TR422';
END $$;
