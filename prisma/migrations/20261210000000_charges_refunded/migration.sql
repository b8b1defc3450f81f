-- For the dashboard's list of refunded charges: among paid charges they are few.
CREATE INDEX CONCURRENTLY charges_refunded_idx ON charges (account_id, mode, id)
  WHERE refunded_amount > 0;
