-- Withdrawals that the receiver's bank sends back after it had taken them, at once or in parts: the
-- withdrawal stays approved and counts what came back.
--
-- Locks: ACCESS EXCLUSIVE on withdrawals and events, held for milliseconds once granted; the migrator
-- waits two seconds for them and tries again. No row is read or rewritten: the default is constant, and
-- the next migration validates the CHECKs.
ALTER TABLE withdrawals
  ADD COLUMN returned_amount bigint NOT NULL DEFAULT 0,
  ADD CONSTRAINT withdrawals_returned_within_sent CHECK (returned_amount BETWEEN 0
    AND CASE status WHEN 'approved' THEN amount ELSE 0 END) NOT VALID;

ALTER TABLE events
  DROP CONSTRAINT events_type_known,
  ADD CONSTRAINT events_type_known CHECK (type IN (
    'transaction.paid', 'transaction.expired', 'transaction.failed', 'transaction.refunded',
    'transaction.refund_failed', 'withdrawal.approved', 'withdrawal.rejected',
    'withdrawal.returned')) NOT VALID;

CREATE TABLE payout_returns (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  withdrawal_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  return_id text NOT NULL,
  amount bigint NOT NULL,
  returned_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT payout_returns_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT payout_returns_account_id_withdrawal_id_fkey FOREIGN KEY (account_id, withdrawal_id)
    REFERENCES withdrawals (account_id, id) ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT payout_returns_amount_positive CHECK (amount > 0)
);
CREATE UNIQUE INDEX payout_returns_connection_id_return_id_key
  ON payout_returns (connection_id, return_id);
CREATE INDEX payout_returns_account_id_withdrawal_id_idx
  ON payout_returns (account_id, withdrawal_id);
CREATE TRIGGER payout_returns_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON payout_returns
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();
