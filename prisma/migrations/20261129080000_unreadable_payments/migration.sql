-- Payments in a bank's list that cannot be read are reported to staff.
--
-- Locks: ACCESS EXCLUSIVE on inbox_items while its few rows are checked.
ALTER TABLE inbox_items
  DROP CONSTRAINT inbox_items_kind_known,
  ADD CONSTRAINT inbox_items_kind_known CHECK (kind IN ('payment_amount', 'payment_repeated',
    'payment_unmatched', 'payment_unreadable', 'return_above_payout', 'return_unmatched',
    'refund_unknown', 'dispute_unmatched', 'dispute_contradicted', 'removal_unconfirmed',
    'withdrawal_contradicted'));
