-- For the list of what a token created, newest first.
CREATE INDEX CONCURRENTLY tokens_children_idx ON tokens (account_id, parent_id, id)
  WHERE parent_id IS NOT NULL;
