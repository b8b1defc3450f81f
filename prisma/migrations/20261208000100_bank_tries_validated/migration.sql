-- Validates what the migration before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on ledger_transfers for one scan: reads and writes go on.
ALTER TABLE ledger_transfers VALIDATE CONSTRAINT ledger_transfers_kind_known;
