-- The host that a webhook is sent to, as the URL parser of the application understands it. Null: the row
-- is from an older process; troco_host_of() then derives it from the URL.
--
-- Locks: ACCESS EXCLUSIVE on each table, held for milliseconds. No row is read or rewritten.
ALTER TABLE charges ADD COLUMN webhook_host text;
ALTER TABLE withdrawals ADD COLUMN webhook_host text;
ALTER TABLE webhook_endpoints ADD COLUMN host text;
