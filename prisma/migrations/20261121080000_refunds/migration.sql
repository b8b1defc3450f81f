-- A refund that may not be ends its statement here, so that nothing of it stays: no row at all would
-- leave the key of the request behind. The rule that refused is told where a CHECK's name would stand.
CREATE FUNCTION troco_refuse_refund(rule text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the refund breaks the rule "%"', rule
    USING ERRCODE = 'check_violation', CONSTRAINT = rule, TABLE = 'refunds';
END $$;

-- One return at the bank is the proof of one refund.
CREATE UNIQUE INDEX refunds_return_id_key ON refunds (return_id) WHERE return_id IS NOT NULL;

-- The charge counts its refunds, so a refund stays with the charge that it was asked for.
CREATE FUNCTION troco_refuse_other_charge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the charge of a refund never changes'
    USING ERRCODE = 'check_violation', CONSTRAINT = 'refunds_charge_fixed';
END $$;

CREATE TRIGGER refunds_charge_fixed BEFORE UPDATE OF charge_id ON refunds FOR EACH ROW
  WHEN (NEW.charge_id <> OLD.charge_id) EXECUTE FUNCTION troco_refuse_other_charge();
