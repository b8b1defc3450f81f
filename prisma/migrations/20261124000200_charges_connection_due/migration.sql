-- For the expiry and the queries of each connection: a bank that does not respond leaves many due.
CREATE INDEX CONCURRENTLY charges_connection_due_idx ON charges (connection_id, due_at)
  WHERE due_at IS NOT NULL;
