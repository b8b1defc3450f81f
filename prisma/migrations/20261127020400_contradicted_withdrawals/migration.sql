-- For the health page: ended withdrawals that the bank contradicts. No row, if all is well.
CREATE INDEX CONCURRENTLY withdrawals_contradicted_idx ON withdrawals (contradicted_at)
  WHERE contradicted_at IS NOT NULL;
