-- Days of a bank that are held against the books, items in the inbox about them, and fees that a bank gave
-- back. docs/decisions/046.
--
-- Locks: ACCESS EXCLUSIVE on inbox_items and bank_fees while their few rows are checked. reconciled_days has
-- no foreign key: writing it must wait for nothing.
CREATE TABLE reconciled_days (
  connection_id uuid NOT NULL,
  day date NOT NULL,
  source text,
  opening bigint,
  closing bigint,
  books bigint,
  counts jsonb NOT NULL DEFAULT jsonb_build_object(),
  strays text[] DEFAULT ARRAY[]::text[],
  flaw text,
  read_at timestamptz(6),
  due_at timestamptz(6),
  cursor text,
  lease uuid,
  CONSTRAINT reconciled_days_pkey PRIMARY KEY (connection_id, day),
  CONSTRAINT reconciled_days_source_known CHECK (source IN ('lists', 'statement')),
  CONSTRAINT reconciled_days_read CHECK ((source IS NULL) = (read_at IS NULL))
);
CREATE INDEX reconciled_days_due_idx ON reconciled_days (due_at) WHERE due_at IS NOT NULL;

ALTER TABLE inbox_items
  ADD COLUMN day date,
  ADD COLUMN resolution text,
  ADD CONSTRAINT inbox_items_resolution_of_resolved CHECK (resolution IS NULL OR resolved_at IS NOT NULL),
  DROP CONSTRAINT inbox_items_kind_known,
  ADD CONSTRAINT inbox_items_kind_known CHECK (kind IN ('payment_amount', 'payment_repeated',
    'payment_unmatched', 'payment_unreadable', 'return_above_payout', 'return_unmatched',
    'refund_unknown', 'dispute_unmatched', 'dispute_contradicted', 'removal_unconfirmed',
    'withdrawal_contradicted', 'day_missing_here', 'day_missing_there', 'day_different', 'day_balance'));
CREATE INDEX inbox_items_day_idx ON inbox_items (connection_id, day) WHERE day IS NOT NULL;

ALTER TABLE bank_fees ADD COLUMN is_return boolean NOT NULL DEFAULT false;
CREATE INDEX bank_fees_connection_id_charged_at_idx ON bank_fees (connection_id, charged_at);
