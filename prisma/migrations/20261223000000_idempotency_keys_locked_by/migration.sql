-- The process that works on a locked key: lib/base/db/presence.ts. Null: its death cannot be seen, so that a
-- repeated request waits for the end of the lock, as for the keys of the previous version.
--
-- Locks: ACCESS EXCLUSIVE on idempotency_keys for a moment; it is neither rewritten nor read.
ALTER TABLE idempotency_keys ADD COLUMN locked_by integer;
