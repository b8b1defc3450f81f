-- Events about disputes, about money that the bank gave back by itself, and about payments of another amount.
--
-- Locks: ACCESS EXCLUSIVE on events, held for milliseconds once granted; the migrator waits two seconds for it
-- and tries again. No row is read: the next migration validates the CHECK.
ALTER TABLE events
  DROP CONSTRAINT events_type_known,
  ADD CONSTRAINT events_type_known CHECK (type IN (
    'transaction.paid', 'transaction.expired', 'transaction.failed', 'transaction.refunded',
    'transaction.refund_failed', 'transaction.dispute_opened', 'transaction.dispute_closed',
    'transaction.returned', 'transaction.amount_mismatch', 'withdrawal.approved', 'withdrawal.rejected',
    'withdrawal.returned')) NOT VALID;
