-- New kinds of items: what a bank has paid out or given back since a restore, and no account could be charged with.
--
-- Locks: ACCESS EXCLUSIVE on inbox_items for a moment. NOT VALID: the next migration reads the rows without blocking writers.
ALTER TABLE inbox_items
  DROP CONSTRAINT inbox_items_kind_known,
  ADD CONSTRAINT inbox_items_kind_known CHECK (kind IN ('payment_amount', 'payment_repeated',
    'payment_unmatched', 'payment_unreadable', 'return_above_payout', 'return_unmatched',
    'refund_unknown', 'dispute_unmatched', 'dispute_contradicted', 'removal_unconfirmed',
    'withdrawal_contradicted', 'day_missing_here', 'day_missing_there', 'day_different', 'day_balance',
    'payout_unbooked', 'refund_unbooked')) NOT VALID;
