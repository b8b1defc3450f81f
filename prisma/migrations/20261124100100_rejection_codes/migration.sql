-- Validates what the migration before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on each table for one scan: reads and writes go on.
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_rejection_code_known;
ALTER TABLE refunds VALIDATE CONSTRAINT refunds_rejection_code_known;
