-- Validates what the migration before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on each table for one scan: reads and writes go on.
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_day_max_range;
ALTER TABLE connections VALIDATE CONSTRAINT connections_payout_max_range;
ALTER TABLE connections VALIDATE CONSTRAINT connections_payout_day_max_range;
