-- A withdrawal that the bank never answers is ended by two admins: what the first proposes, who confirms
-- it, and a later answer of the bank that contradicts it. The people are plain ids; null is the command
-- line. docs/decisions/038.
--
-- Locks: ACCESS EXCLUSIVE on one table, held for milliseconds once granted; the migrator waits two
-- seconds for it and tries again. No row is read or rewritten; the next migration validates the CHECKs.
ALTER TABLE withdrawals
  ADD COLUMN end_id uuid,
  ADD COLUMN end_outcome text,
  ADD COLUMN end_reason text,
  ADD COLUMN end_proposed_by uuid,
  ADD COLUMN end_proposed_at timestamptz(6),
  ADD COLUMN end_confirmed_by uuid,
  ADD COLUMN ended_at timestamptz(6),
  ADD COLUMN end_ask_at timestamptz(6),
  ADD COLUMN contradiction text,
  ADD COLUMN contradicted_at timestamptz(6),
  ADD CONSTRAINT withdrawals_end_outcome_known CHECK (end_outcome IN ('sent', 'not_sent')) NOT VALID,
  ADD CONSTRAINT withdrawals_end_complete CHECK (
    num_nulls(end_id, end_outcome, end_reason, end_proposed_at) IN (0, 4)) NOT VALID,
  -- Only live money, and only as it was proposed.
  ADD CONSTRAINT withdrawals_ended_as_proposed CHECK (ended_at IS NULL OR (
    end_id IS NOT NULL AND mode = 'live'
    AND status = CASE end_outcome WHEN 'sent' THEN 'approved' ELSE 'rejected' END)) NOT VALID,
  -- By two people, or by none: the command line.
  ADD CONSTRAINT withdrawals_ended_by_two CHECK (ended_at IS NULL OR (
    num_nulls(end_proposed_by, end_confirmed_by) = 2
    OR COALESCE(end_proposed_by <> end_confirmed_by, false)))
    NOT VALID,
  ADD CONSTRAINT withdrawals_contradiction_known CHECK (contradiction IS NULL
    OR contradiction IN ('done', 'refused') AND ended_at IS NOT NULL) NOT VALID,
  ADD CONSTRAINT withdrawals_contradiction_complete CHECK (
    (contradiction IS NULL) = (contradicted_at IS NULL)) NOT VALID,
  DROP CONSTRAINT withdrawals_rejection_code_known,
  ADD CONSTRAINT withdrawals_rejection_code_known CHECK (rejection_code IN (
    'key_refused', 'owner_differs', 'account_unknown', 'account_blocked', 'account_closed',
    'not_supported', 'above_limit', 'amount_refused', 'receiver_refused', 'not_in_pix', 'regulation',
    'denied', 'try_later', 'simulated', 'unspecified', 'other', 'approval_declined',
    'approval_expired', 'ended_unsent')) NOT VALID;
