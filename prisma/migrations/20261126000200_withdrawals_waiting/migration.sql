-- For claimPayouts in lib/rooms/withdrawals/places.ts: the oldest withdrawal of each account that waits
-- for a place.
CREATE INDEX CONCURRENTLY withdrawals_waiting_idx
  ON withdrawals (connection_id, account_id, id) WHERE due_at IS NOT NULL AND place_until IS NULL;
