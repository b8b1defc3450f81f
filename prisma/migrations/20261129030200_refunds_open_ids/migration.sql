-- For bringForward in lib/base/db/bring-forward.ts: open refunds that a bank's notice names, without their
-- account.
CREATE INDEX CONCURRENTLY refunds_open_idx ON refunds (id) WHERE due_at IS NOT NULL;
