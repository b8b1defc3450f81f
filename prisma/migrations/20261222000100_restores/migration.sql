-- Times to which this database was restored, and the connections through which nothing is sent out since:
-- each opens once what its bank received, gave back and paid out since then was read (docs/decisions/064).
--
-- Locks: none, the tables are new.
CREATE TABLE restores (
  id uuid PRIMARY KEY,
  restored_to timestamptz(6) NOT NULL,
  begun_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE UNIQUE INDEX restores_restored_to_key ON restores (restored_to);

CREATE TABLE restore_closures (
  connection_id uuid NOT NULL,
  restore_id uuid NOT NULL CONSTRAINT restore_closures_restore_id_fkey REFERENCES restores (id),
  since timestamptz(6) NOT NULL,
  -- What is read next: receipts, refunds, then payouts; null after the last.
  list text DEFAULT 'receipts',
  until timestamptz(6),
  place text,
  receipts_until timestamptz(6),
  refunds_until timestamptz(6),
  payouts_until timestamptz(6),
  -- Orders at the bank that have not ended and that the books do not have, in the last reading.
  unsettled integer NOT NULL DEFAULT 0,
  flaw text,
  due_at timestamptz(6),
  lease uuid,
  opened_at timestamptz(6),
  -- Why it is open: its lists were read, or people opened it.
  opened_by text,
  proposal_id uuid,
  proposed_by uuid,
  proposed_at timestamptz(6),
  reason text,
  confirmed_by uuid,
  PRIMARY KEY (connection_id, restore_id),
  CONSTRAINT restore_closures_list_known CHECK (list IN ('receipts', 'refunds', 'payouts')),
  CONSTRAINT restore_closures_opened CHECK ((opened_at IS NULL) = (opened_by IS NULL)),
  CONSTRAINT restore_closures_opened_by_known CHECK (opened_by IN ('readings', 'admins', 'command_line')),
  CONSTRAINT restore_closures_two_admins CHECK (opened_by IS DISTINCT FROM 'admins' OR (
    proposed_by IS NOT NULL AND confirmed_by IS NOT NULL AND proposed_by <> confirmed_by))
);
CREATE INDEX restore_closures_closed_idx ON restore_closures (connection_id) WHERE opened_at IS NULL;
