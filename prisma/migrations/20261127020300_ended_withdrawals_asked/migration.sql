-- For the worker: ended withdrawals that the bank is asked about again. A few rows.
CREATE INDEX CONCURRENTLY withdrawals_end_ask_idx ON withdrawals (end_ask_at)
  WHERE end_ask_at IS NOT NULL;
