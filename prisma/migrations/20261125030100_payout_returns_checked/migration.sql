-- Validates what the migration before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on each table for one scan: reads and writes go on.
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_returned_within_sent;
ALTER TABLE events VALIDATE CONSTRAINT events_type_known;
