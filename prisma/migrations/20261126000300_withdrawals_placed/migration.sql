-- For lib/rooms/withdrawals/places.ts: withdrawals that were sent to a bank and have not ended.
CREATE INDEX CONCURRENTLY withdrawals_placed_idx
  ON withdrawals (connection_id, account_id, due_at, id)
  WHERE due_at IS NOT NULL AND place_until IS NOT NULL;
