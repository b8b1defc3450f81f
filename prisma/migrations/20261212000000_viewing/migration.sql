-- Staff that views a merchant's dashboard (docs/decisions/051).
--
-- Locks: ACCESS EXCLUSIVE on user_sessions for the change of the catalog; no row is read or rewritten.
ALTER TABLE user_sessions
  ADD COLUMN viewed_account_id uuid,
  ADD COLUMN viewing_until timestamptz(6),
  ADD CONSTRAINT user_sessions_viewing_complete
    CHECK (num_nulls(viewed_account_id, viewing_until) IN (0, 2)) NOT VALID;
