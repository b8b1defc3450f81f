-- For the dashboard's list of cancelled charges: among expired charges they are few.
CREATE INDEX CONCURRENTLY charges_cancelled_idx ON charges (account_id, mode, id)
  WHERE cancelled_at IS NOT NULL;
