-- For the limit of tokens, their lists and their revocation: of an account's tokens, few still work.
CREATE INDEX CONCURRENTLY tokens_working_idx
  ON tokens (account_id, (COALESCE(expires_at, 'infinity'::timestamptz)))
  WHERE revoked_at IS NULL;
