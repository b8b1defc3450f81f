-- A record of a call, which has no foreign key.
--
-- Locks: ACCESS EXCLUSIVE on gateway_calls, for milliseconds.
ALTER TABLE gateway_calls ADD COLUMN connection_id uuid;
