-- version 1
-- Trigger of connections: the result of a check is about the credentials that were checked.
CREATE OR REPLACE FUNCTION troco_forget_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.checked_at := NULL;
  NEW.check_code := NULL;
  RETURN NEW;
END $$;
