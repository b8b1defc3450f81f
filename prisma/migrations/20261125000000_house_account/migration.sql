-- The house account: the operator's own books in this database, under a fixed id without a row in
-- accounts, so that no list, count or sum of merchants contains it (docs/decisions/033). `own` may be
-- negative, `suspense` is money of unknown owners, `external` has any sign.
--
-- Locks: ACCESS EXCLUSIVE on accounts, ledger_accounts, ledger_checks and ledger_transfers, held for
-- milliseconds once granted; the migrator waits two seconds for them and tries again. No row is read or
-- rewritten; the next migration validates the CHECKs.
ALTER TABLE ledger_accounts DROP CONSTRAINT ledger_accounts_account_id_fkey;
ALTER TABLE ledger_checks DROP CONSTRAINT ledger_checks_account_id_fkey;
ALTER TABLE accounts ADD CONSTRAINT accounts_not_house
  CHECK (id <> '00000000-0000-7000-8000-000000000002') NOT VALID;

ALTER TABLE ledger_accounts
  DROP CONSTRAINT ledger_accounts_ledger_known,
  ADD CONSTRAINT ledger_accounts_ledger_known CHECK (ledger = 'external'
    OR CASE account_id WHEN '00000000-0000-7000-8000-000000000002' THEN ledger IN ('own', 'suspense')
      ELSE ledger IN ('available', 'outbound') END) NOT VALID,
  DROP CONSTRAINT ledger_accounts_external_not_positive,
  ADD CONSTRAINT ledger_accounts_external_not_positive CHECK (ledger <> 'external' OR balance <= 0
    OR account_id = '00000000-0000-7000-8000-000000000002') NOT VALID,
  ADD CONSTRAINT ledger_accounts_suspense_not_negative
    CHECK (ledger <> 'suspense' OR balance >= 0) NOT VALID;

INSERT INTO ledger_accounts (account_id, mode, ledger)
SELECT '00000000-0000-7000-8000-000000000002', mode, ledger
FROM unnest(ARRAY['test', 'live']) AS mode, unnest(ARRAY['own', 'suspense', 'external']) AS ledger;

-- All movements (lib/services/ledger/movements.ts); true: in the books of the house.
ALTER TABLE ledger_transfers
  DROP CONSTRAINT ledger_transfers_kind_known,
  ADD CONSTRAINT ledger_transfers_kind_known CHECK (
    (account_id = '00000000-0000-7000-8000-000000000002', kind, debit, credit) IN (
      (false, 'charge_paid', 'external', 'available'),
      (false, 'withdrawal_held', 'available', 'outbound'),
      (false, 'withdrawal_sent', 'outbound', 'external'),
      (false, 'withdrawal_returned', 'outbound', 'available'),
      (false, 'refund_held', 'available', 'outbound'),
      (false, 'refund_sent', 'outbound', 'external'),
      (false, 'refund_returned', 'outbound', 'available'),
      (false, 'payout_returned', 'external', 'available'),
      (false, 'dispute_held', 'available', 'disputed'),
      (false, 'dispute_owed', 'owed', 'disputed'),
      (false, 'dispute_won', 'disputed', 'available'),
      (false, 'dispute_lost', 'disputed', 'external'),
      (false, 'owed_repaid', 'available', 'owed'),
      (false, 'owed_written_off', 'external', 'owed'),
      (true, 'receipt_suspended', 'external', 'suspense'),
      (true, 'fee_paid', 'own', 'external'),
      (true, 'write_off_paid', 'own', 'external'))) NOT VALID;
