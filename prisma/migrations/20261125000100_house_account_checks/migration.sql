-- Validates what the migration before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on each table for one scan: reads and writes go on.
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_not_house;
ALTER TABLE ledger_accounts VALIDATE CONSTRAINT ledger_accounts_ledger_known;
ALTER TABLE ledger_accounts VALIDATE CONSTRAINT ledger_accounts_external_not_positive;
ALTER TABLE ledger_accounts VALIDATE CONSTRAINT ledger_accounts_suspense_not_negative;
ALTER TABLE ledger_transfers VALIDATE CONSTRAINT ledger_transfers_kind_known;
