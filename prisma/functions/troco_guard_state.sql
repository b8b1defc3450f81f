-- version 2
-- Trigger of charges, withdrawals and refunds: refuses a state change that its arguments ("from>to") do
-- not list, and a changed account, id, mode, connection or amount.
CREATE OR REPLACE FUNCTION troco_guard_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.account_id <> OLD.account_id OR NEW.id <> OLD.id OR NEW.mode <> OLD.mode
    OR NEW.connection_id <> OLD.connection_id OR NEW.amount <> OLD.amount THEN
    RAISE EXCEPTION 'account, id, mode, connection and amount of a % row never change', TG_TABLE_NAME
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_terms_fixed';
  END IF;
  IF NEW.status <> OLD.status AND NOT (OLD.status || '>' || NEW.status = ANY (TG_ARGV)) THEN
    RAISE EXCEPTION 'a % row cannot go from % to %', TG_TABLE_NAME, OLD.status, NEW.status
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_state_moves';
  END IF;
  RETURN NEW;
END $$;
