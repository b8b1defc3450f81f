-- version 1
-- Ends the statement of a refund that a rule forbids, so that the key of its request is not stored
-- either. Called by lib/rooms/charges/refunds/create.ts, which reads the rule as a constraint's name.
CREATE OR REPLACE FUNCTION troco_refuse_refund(rule text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the refund breaks the rule "%"', rule
    USING ERRCODE = 'check_violation', CONSTRAINT = rule, TABLE = 'refunds';
END $$;
