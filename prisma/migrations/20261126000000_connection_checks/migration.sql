-- A check is about what the adapter was given then: after a change, accounts may not use the
-- connection before its next check.
--
-- Locks: ACCESS EXCLUSIVE on connections, for milliseconds.
CREATE FUNCTION troco_forget_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.checked_at := NULL;
  NEW.check_code := NULL;
  RETURN NEW;
END $$;

CREATE TRIGGER connections_check_forgotten BEFORE UPDATE ON connections FOR EACH ROW
  WHEN (NEW.sealed_credentials IS DISTINCT FROM OLD.sealed_credentials OR NEW.kind <> OLD.kind
    OR NEW.environment IS DISTINCT FROM OLD.environment OR NEW.profile IS DISTINCT FROM OLD.profile
    OR NEW.settings::jsonb - 'payouts_in_flight' <> OLD.settings::jsonb - 'payouts_in_flight')
  EXECUTE FUNCTION troco_forget_check();
