-- Items of the inbox are settled by a person (docs/decisions/049).
--
-- Locks: ACCESS EXCLUSIVE on inbox_items and ledger_transfers, held for milliseconds once granted; the
-- migrator waits two seconds for them and tries again. No row of ledger_transfers is read or rewritten;
-- the next migration validates its CHECK.

-- `resolved_by` is null if no person resolved the item.
ALTER TABLE inbox_items
  ADD COLUMN resolved_by uuid,
  ADD COLUMN reason text,
  ADD CONSTRAINT inbox_items_resolved_complete CHECK (resolved_by IS NULL
    OR num_nulls(resolved_at, resolution, reason) = 0);

-- Where the money of a receipt went: each is settled once. `to_account_id` and `charge_id` name who got
-- it; a receipt that was given back has a completed row in receipt_returns.
CREATE TABLE receipt_settlements (
  account_id uuid NOT NULL,
  receipt_id uuid NOT NULL,
  entry text NOT NULL,
  to_account_id uuid,
  charge_id uuid,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT receipt_settlements_pkey PRIMARY KEY (account_id, receipt_id),
  CONSTRAINT receipt_settlements_account_id_receipt_id_fkey FOREIGN KEY (account_id, receipt_id)
    REFERENCES receipts (account_id, id) ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT receipt_settlements_entry_known
    CHECK (entry IN ('give_back', 'credit', 'match', 'keep')),
  CONSTRAINT receipt_settlements_target_complete CHECK (
    (entry IN ('credit', 'match')) = (to_account_id IS NOT NULL)
    AND (entry = 'match') = (charge_id IS NOT NULL))
);
CREATE INDEX receipt_settlements_to_account_id_idx ON receipt_settlements (to_account_id, receipt_id)
  WHERE to_account_id IS NOT NULL;
CREATE TRIGGER receipt_settlements_append_only BEFORE UPDATE OR DELETE OR TRUNCATE
  ON receipt_settlements FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();

-- Orders to a bank to give a receipt back to its payer. The money stays in `suspense` until the bank has
-- returned it. A rejected order leaves the item open.
CREATE TABLE receipt_returns (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  receipt_id uuid NOT NULL,
  item_id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  requested_by uuid,
  reason text NOT NULL,
  return_id text,
  rejection_reason text,
  rejection_code text,
  rejection_params json,
  bank_text text,
  due_at timestamptz(6),
  lease uuid,
  attempts integer NOT NULL DEFAULT 0,
  completed_at timestamptz(6),
  rejected_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT receipt_returns_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT receipt_returns_account_id_receipt_id_fkey FOREIGN KEY (account_id, receipt_id)
    REFERENCES receipts (account_id, id) ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT receipt_returns_item_id_fkey FOREIGN KEY (item_id)
    REFERENCES inbox_items (id) ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT receipt_returns_connection_id_fkey FOREIGN KEY (connection_id)
    REFERENCES connections (id) ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT receipt_returns_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT receipt_returns_status_known CHECK (status IN ('pending', 'completed', 'rejected')),
  CONSTRAINT receipt_returns_amount_positive CHECK (amount > 0),
  CONSTRAINT receipt_returns_completed_complete CHECK ((status = 'completed') = (completed_at IS NOT NULL)
    AND (status = 'completed') = (return_id IS NOT NULL)),
  CONSTRAINT receipt_returns_rejected_complete CHECK ((status = 'rejected') = (rejected_at IS NOT NULL)
    AND (status = 'rejected') = (rejection_code IS NOT NULL)),
  CONSTRAINT receipt_returns_due CHECK ((status = 'pending') = (due_at IS NOT NULL))
);
-- A receipt is given back once, and by one order at a time.
CREATE UNIQUE INDEX receipt_returns_receipt_id_key ON receipt_returns (account_id, receipt_id)
  WHERE status <> 'rejected';
CREATE INDEX receipt_returns_item_id_created_at_idx ON receipt_returns (item_id, created_at);
CREATE INDEX receipt_returns_turn_idx ON receipt_returns (connection_id, account_id, due_at, id)
  WHERE due_at IS NOT NULL;
CREATE INDEX receipt_returns_lease_idx ON receipt_returns (lease) WHERE lease IS NOT NULL;
CREATE TRIGGER receipt_returns_guard_state BEFORE UPDATE ON receipt_returns FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('pending>completed', 'pending>rejected');

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
      (true, 'fee_paid', 'own', 'external'),
      (true, 'fee_returned', 'external', 'own'),
      (true, 'write_off_paid', 'own', 'external'))) NOT VALID;
