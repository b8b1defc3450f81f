-- For bringForward in lib/base/db/bring-forward.ts: open withdrawals that a bank's notice names, without
-- their account.
CREATE INDEX CONCURRENTLY withdrawals_open_idx ON withdrawals (id) WHERE due_at IS NOT NULL;
