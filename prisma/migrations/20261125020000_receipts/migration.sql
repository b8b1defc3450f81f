-- Payments that pay no charge, and what staff must decide (docs/decisions/033).
--
-- Locks: none on existing tables.

-- Directory of the payments that moved money: the statement that books one inserts its row, so that a
-- payment is either credited to a charge or suspended, once, also if two connections to one bank account
-- list it. Payments of older charges have no row.
CREATE TABLE booked_payments (
  end_to_end_id text NOT NULL,
  connection_id uuid NOT NULL,
  account_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  CONSTRAINT booked_payments_pkey PRIMARY KEY (end_to_end_id)
);
CREATE UNIQUE INDEX booked_payments_account_id_subject_id_key
  ON booked_payments (account_id, subject_id);

-- Money in `suspense` of the house. `charge_account_id` and `charge_id` name the charge that it was
-- sent to, if one is known; that charge may have been removed since.
CREATE TABLE receipts (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  end_to_end_id text NOT NULL,
  txid text,
  amount bigint NOT NULL,
  paid_at timestamptz(6) NOT NULL,
  reason text NOT NULL,
  charge_account_id uuid,
  charge_id uuid,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT receipts_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT receipts_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections (id)
    ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT receipts_of_house CHECK (account_id = '00000000-0000-7000-8000-000000000002'),
  CONSTRAINT receipts_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT receipts_amount_positive CHECK (amount > 0),
  CONSTRAINT receipts_reason_known CHECK (reason IN ('payment_amount', 'payment_repeated',
    'payment_unmatched', 'return_above_payout', 'return_unmatched')),
  CONSTRAINT receipts_charge_complete CHECK ((charge_account_id IS NULL) = (charge_id IS NULL))
);
CREATE UNIQUE INDEX receipts_connection_id_end_to_end_id_key
  ON receipts (connection_id, end_to_end_id);
CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();

-- `key` is what an item is about, in the bank's ids: it is reported once, however often it is seen.
CREATE TABLE inbox_items (
  id uuid NOT NULL,
  connection_id uuid NOT NULL,
  kind text NOT NULL,
  key text NOT NULL,
  facts json NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  resolved_at timestamptz(6),
  CONSTRAINT inbox_items_pkey PRIMARY KEY (id),
  CONSTRAINT inbox_items_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections (id)
    ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT inbox_items_kind_known CHECK (kind IN ('payment_amount', 'payment_repeated',
    'payment_unmatched', 'return_above_payout', 'return_unmatched', 'refund_unknown',
    'dispute_unmatched', 'dispute_contradicted'))
);
CREATE UNIQUE INDEX inbox_items_connection_id_kind_key_key
  ON inbox_items (connection_id, kind, key);
CREATE INDEX inbox_items_open_idx ON inbox_items (created_at, id) WHERE resolved_at IS NULL;
