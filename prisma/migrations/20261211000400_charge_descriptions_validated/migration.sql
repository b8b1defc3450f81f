-- Validates what the migration before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on one table for one scan: reads and writes go on.
ALTER TABLE charges VALIDATE CONSTRAINT charges_description_length;
