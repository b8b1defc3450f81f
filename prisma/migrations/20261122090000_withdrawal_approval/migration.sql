-- Approval of withdrawals by a second member: the account's rule, a weaker rule that waits for a second
-- owner, and on a withdrawal why it needs approval, until when it waits and who decided. Existing
-- accounts have no rule: nothing changes for them until an owner sets one.
--
-- Locks: ACCESS EXCLUSIVE on three tables, held for milliseconds once granted; the migrator waits two
-- seconds for them and tries again. No row is read or rewritten; the next migration validates the CHECKs.
ALTER TABLE accounts
  ADD COLUMN approval_new_keys boolean NOT NULL DEFAULT false,
  ADD COLUMN approval_above bigint,
  ADD COLUMN approval_kept_until timestamptz(6),
  ADD CONSTRAINT accounts_approval_above_range
    CHECK (approval_above BETWEEN 0 AND 999999999999) NOT VALID;

-- When and through whom a member got a role that may approve. Null: with the membership, as its founder.
ALTER TABLE memberships
  ADD COLUMN role_at timestamptz(6),
  ADD COLUMN role_by uuid;

-- `requested_by` has no foreign key: each insert would lock the row of the user.
ALTER TABLE withdrawals
  ADD COLUMN requested_by uuid,
  ADD COLUMN approval_reason text,
  ADD COLUMN approval_due_at timestamptz(6),
  ADD COLUMN approval_barred uuid[],
  ADD COLUMN approval_mailed_at timestamptz(6),
  ADD COLUMN approval_by uuid,
  ADD COLUMN approval_at timestamptz(6),
  ADD CONSTRAINT withdrawals_approval_reason_known
    CHECK (approval_reason IN ('amount', 'new_key')) NOT VALID,
  -- Neither a job nor the API can send or settle a withdrawal that waits for approval.
  ADD CONSTRAINT withdrawals_waiting_is_not_due CHECK (approval_due_at IS NULL OR (
    status = 'pending' AND due_at IS NULL AND lease IS NULL AND approval_at IS NULL
    AND approval_reason IS NOT NULL AND approval_barred IS NOT NULL)) NOT VALID,
  DROP CONSTRAINT withdrawals_rejection_code_known,
  ADD CONSTRAINT withdrawals_rejection_code_known CHECK (rejection_code IN (
    'key_refused', 'simulated', 'unspecified', 'other', 'approval_declined', 'approval_expired'))
    NOT VALID;

CREATE TABLE approval_changes (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  new_keys boolean NOT NULL,
  above bigint,
  requested_by uuid NOT NULL,
  barred uuid[],
  expires_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT approval_changes_barred CHECK (barred IS NOT NULL),
  CONSTRAINT approval_changes_pkey PRIMARY KEY (account_id),
  CONSTRAINT approval_changes_above_range CHECK (above BETWEEN 0 AND 999999999999),
  CONSTRAINT approval_changes_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts (id)
    ON DELETE RESTRICT ON UPDATE CASCADE,
  CONSTRAINT approval_changes_requested_by_fkey FOREIGN KEY (requested_by) REFERENCES users (id)
);
