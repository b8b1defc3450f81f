-- Tries of connections to banks (docs/decisions/050).
--
-- Locks: ACCESS EXCLUSIVE on ledger_transfers, held for milliseconds once granted; the migrator waits two
-- seconds for it and tries again. No row of it is read or rewritten; the next migration validates its CHECK.

-- The ids of the code, of the refund and of the payout are those of all calls about them, and are stored
-- before the first one.
CREATE TABLE bank_tries (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  requested_by uuid,
  br_code text,
  expires_at timestamptz(6),
  failure text,
  problem text,
  end_to_end_id text,
  paid_at timestamptz(6),
  received_at timestamptz(6),
  noticed_at timestamptz(6),
  listed_at timestamptz(6),
  refund_id uuid NOT NULL,
  refund_status text,
  return_id text,
  refund_rejection text,
  pix_key text,
  pix_key_type text,
  payout_id uuid NOT NULL,
  payout_status text,
  payout_amount bigint NOT NULL,
  payout_end_to_end_id text,
  payout_rejection text,
  payout_of uuid,
  place_until timestamptz(6),
  due_at timestamptz(6),
  lease uuid,
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  ended_at timestamptz(6),
  CONSTRAINT bank_tries_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT bank_tries_connection_id_fkey FOREIGN KEY (connection_id)
    REFERENCES connections (id) ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT bank_tries_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT bank_tries_status_known
    CHECK (status IN ('opening', 'open', 'paid', 'passed', 'failed')),
  CONSTRAINT bank_tries_amounts_positive CHECK (amount > 0 AND payout_amount > 0),
  CONSTRAINT bank_tries_code_complete CHECK (num_nulls(br_code, expires_at) IN (0, 2)
    AND (status <> 'open' OR br_code IS NOT NULL)),
  CONSTRAINT bank_tries_paid_complete CHECK (
    num_nulls(end_to_end_id, paid_at, received_at, refund_status) IN (0, 4)
    AND (status NOT IN ('opening', 'open') OR end_to_end_id IS NULL)
    AND (status NOT IN ('paid', 'passed') OR end_to_end_id IS NOT NULL)),
  CONSTRAINT bank_tries_failure_complete
    CHECK ((status = 'failed' AND end_to_end_id IS NULL) = (failure IS NOT NULL)),
  CONSTRAINT bank_tries_refund_complete CHECK (refund_status IN ('pending', 'completed', 'rejected')
    AND (refund_status IS NOT DISTINCT FROM 'completed') = (return_id IS NOT NULL)
    AND (refund_status IS NOT DISTINCT FROM 'rejected') = (refund_rejection IS NOT NULL)),
  CONSTRAINT bank_tries_key_complete CHECK (num_nulls(pix_key, pix_key_type) IN (0, 2)),
  CONSTRAINT bank_tries_payout_complete CHECK (payout_status IN ('pending', 'completed', 'rejected')
    AND (payout_status IS NOT DISTINCT FROM 'completed') = (payout_end_to_end_id IS NOT NULL)
    AND (payout_status IS NOT DISTINCT FROM 'rejected') = (payout_rejection IS NOT NULL)
    AND num_nonnulls(payout_status, payout_of) <= (pix_key IS NOT NULL)::int),
  CONSTRAINT bank_tries_ended CHECK ((status IN ('passed', 'failed')) = (ended_at IS NOT NULL)
    AND (ended_at IS NULL OR num_nonnulls(due_at, lease) = 0)
    AND (ended_at IS NOT NULL OR due_at IS NOT NULL)
    AND (ended_at IS NULL OR (refund_status IS DISTINCT FROM 'pending'
      AND payout_status IS DISTINCT FROM 'pending')))
);
-- A connection has one try at a time.
CREATE UNIQUE INDEX bank_tries_open_key ON bank_tries (connection_id) WHERE ended_at IS NULL;
-- A key gets one payout through a connection, however often it is tried, unless the bank rejected it.
CREATE UNIQUE INDEX bank_tries_payout_key ON bank_tries (connection_id, pix_key)
  WHERE payout_status <> 'rejected';
CREATE INDEX bank_tries_connection_id_created_at_idx ON bank_tries (connection_id, created_at);
CREATE INDEX bank_tries_due_idx ON bank_tries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX bank_tries_lease_idx ON bank_tries (lease) WHERE lease IS NOT NULL;
CREATE TRIGGER bank_tries_guard_state BEFORE UPDATE ON bank_tries FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('opening>open', 'opening>paid', 'opening>failed', 'open>paid',
    'open>failed', 'paid>passed', 'paid>failed');

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
      (false, 'receipt_credited', 'external', 'available'),
      (false, 'dispute_held', 'available', 'disputed'),
      (false, 'dispute_owed', 'owed', 'disputed'),
      (false, 'dispute_won', 'disputed', 'available'),
      (false, 'dispute_lost', 'disputed', 'external'),
      (false, 'owed_repaid', 'available', 'owed'),
      (false, 'owed_written_off', 'external', 'owed'),
      (true, 'receipt_suspended', 'external', 'suspense'),
      (true, 'receipt_released', 'suspense', 'external'),
      (true, 'receipt_kept', 'suspense', 'own'),
      (true, 'try_received', 'external', 'own'),
      (true, 'try_returned', 'own', 'external'),
      (true, 'try_sent', 'own', 'external'),
      (true, 'fee_paid', 'own', 'external'),
      (true, 'fee_returned', 'external', 'own'),
      (true, 'write_off_paid', 'own', 'external'))) NOT VALID;
