-- Addresses and ranges from which a token may be used; empty: any.
--
-- Locks: ACCESS EXCLUSIVE on tokens for a moment; the table is not rewritten. The CHECK reads it once,
-- and an account has at most 100 active tokens.
ALTER TABLE tokens
  ADD COLUMN allowed_addresses text[] DEFAULT ARRAY[]::text[],
  ADD CONSTRAINT tokens_allowed_addresses_count
    CHECK (allowed_addresses IS NOT NULL AND cardinality(allowed_addresses) <= 20);
