-- Movement fee_returned: a bank gave a fee back to the house. docs/decisions/046.
--
-- Locks: ACCESS EXCLUSIVE on ledger_transfers for milliseconds once granted. No row is read; the next
-- migration validates the CHECK.
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
      (true, 'fee_returned', 'external', 'own'),
      (true, 'write_off_paid', 'own', 'external'))) NOT VALID;
