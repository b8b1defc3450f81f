-- The token that created a token over the API; null: a member or the operator did. Such a child creates
-- none itself, and works only while its parent does (lib/rooms/tokens/status.ts). Tokens are never deleted.
--
-- Locks: ACCESS EXCLUSIVE on tokens for a moment; the table is not rewritten. The CHECK reads it once,
-- and an account has at most 100 active tokens.
ALTER TABLE tokens
  ADD COLUMN parent_id uuid,
  ADD CONSTRAINT tokens_child_creates_none
    CHECK (parent_id IS NULL OR NOT 'tokens:write' = ANY (permissions));
