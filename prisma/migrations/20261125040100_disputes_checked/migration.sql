-- Validates what the migration before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on ledger_accounts for its scans: reads and writes go on.
ALTER TABLE ledger_accounts VALIDATE CONSTRAINT ledger_accounts_owed_first;
ALTER TABLE ledger_accounts VALIDATE CONSTRAINT ledger_accounts_disputed_not_negative;
ALTER TABLE ledger_accounts VALIDATE CONSTRAINT ledger_accounts_owed_not_positive;
ALTER TABLE ledger_accounts VALIDATE CONSTRAINT ledger_accounts_ledger_known;
