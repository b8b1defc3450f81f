-- More reasons of a bank, and beside the reason that the merchant sees the bank's own text for staff.
--
-- Locks: ACCESS EXCLUSIVE on two tables, held for milliseconds once granted; the migrator waits two
-- seconds for them and tries again. No row is read or rewritten; the next migration validates the CHECKs.
ALTER TABLE withdrawals
  ADD COLUMN bank_text text,
  DROP CONSTRAINT withdrawals_rejection_code_known,
  ADD CONSTRAINT withdrawals_rejection_code_known CHECK (rejection_code IN (
    'key_refused', 'owner_differs', 'account_unknown', 'account_blocked', 'account_closed',
    'not_supported', 'above_limit', 'amount_refused', 'receiver_refused', 'not_in_pix', 'regulation',
    'denied', 'try_later', 'simulated', 'unspecified', 'other', 'approval_declined',
    'approval_expired')) NOT VALID;

ALTER TABLE refunds
  ADD COLUMN bank_text text,
  DROP CONSTRAINT refunds_rejection_code_known,
  ADD CONSTRAINT refunds_rejection_code_known CHECK (rejection_code IN (
    'key_refused', 'owner_differs', 'account_unknown', 'account_blocked', 'account_closed',
    'not_supported', 'above_limit', 'amount_refused', 'receiver_refused', 'not_in_pix', 'regulation',
    'denied', 'try_later', 'simulated', 'unspecified', 'other')) NOT VALID;
