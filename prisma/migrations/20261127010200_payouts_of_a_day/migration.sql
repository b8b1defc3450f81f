-- For the limit per day of a connection: the total of its payouts of one day, from the index alone.
CREATE INDEX CONCURRENTLY withdrawals_connection_day_idx
  ON withdrawals (connection_id, created_at) INCLUDE (amount)
  WHERE mode = 'live' AND status <> 'rejected';
