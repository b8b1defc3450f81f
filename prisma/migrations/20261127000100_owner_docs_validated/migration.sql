-- Validates what the migration before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on each table for one scan: reads and writes go on.
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_owner_doc_length;
ALTER TABLE simulator_orders VALIDATE CONSTRAINT simulator_orders_reason_code_known;
