-- Validates what the migration before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on one table for one scan each: reads and writes go on.
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_end_outcome_known;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_end_complete;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_ended_as_proposed;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_ended_by_two;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_contradiction_known;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_contradiction_complete;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_rejection_code_known;
