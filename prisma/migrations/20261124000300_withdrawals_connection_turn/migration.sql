-- For claimInTurn in lib/base/db/claim.ts: the oldest due order of each account of a connection.
CREATE INDEX CONCURRENTLY withdrawals_connection_turn_idx
  ON withdrawals (connection_id, account_id, due_at, id) WHERE due_at IS NOT NULL;
