-- Finds whether a key was paid before, and the withdrawals that wait for approval. Only the first index
-- gets a row in daily work; the other two hold waiting withdrawals alone.
--
-- Locks: SHARE on withdrawals until the commit: new withdrawals and their sending wait for three scans
-- of the table and the checks, reads do not.
CREATE INDEX withdrawals_paid_key_idx ON withdrawals (account_id, mode, dict_key)
  WHERE status = 'approved';
CREATE INDEX withdrawals_approval_due_idx ON withdrawals (approval_due_at)
  WHERE approval_due_at IS NOT NULL;
CREATE INDEX withdrawals_approval_idx ON withdrawals (account_id, mode, id)
  WHERE approval_due_at IS NOT NULL;

ALTER TABLE accounts VALIDATE CONSTRAINT accounts_approval_above_range;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_approval_reason_known;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_waiting_is_not_due;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_rejection_code_known;
