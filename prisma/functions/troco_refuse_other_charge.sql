-- version 1
-- Trigger of refunds: refuses another charge, because the charge counts its refunds.
CREATE OR REPLACE FUNCTION troco_refuse_other_charge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the charge of a refund never changes'
    USING ERRCODE = 'check_violation', CONSTRAINT = 'refunds_charge_fixed';
END $$;
