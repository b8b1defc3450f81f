-- Disputes of payments (MED) and what an account owes for them (docs/decisions/033). The ledgers `disputed`
-- and `owed` of an account exist from its first dispute on.
--
-- Locks: ACCESS EXCLUSIVE on ledger_accounts, held for milliseconds once granted; the migrator waits two
-- seconds for it and tries again. No row is read or rewritten: the default is constant, and the next
-- migration validates the CHECKs.
ALTER TABLE ledger_accounts
  -- In the row of `available`: the balance of `owed`, as a positive amount.
  ADD COLUMN owed bigint NOT NULL DEFAULT 0,
  -- What comes in repays it first.
  ADD CONSTRAINT ledger_accounts_owed_first
    CHECK (owed = 0 OR (ledger = 'available' AND owed > 0 AND balance = 0)) NOT VALID,
  ADD CONSTRAINT ledger_accounts_disputed_not_negative
    CHECK (ledger <> 'disputed' OR balance >= 0) NOT VALID,
  ADD CONSTRAINT ledger_accounts_owed_not_positive
    CHECK (ledger <> 'owed' OR balance <= 0) NOT VALID,
  DROP CONSTRAINT ledger_accounts_ledger_known,
  ADD CONSTRAINT ledger_accounts_ledger_known CHECK (ledger = 'external'
    OR CASE account_id WHEN '00000000-0000-7000-8000-000000000002' THEN ledger IN ('own', 'suspense')
      ELSE ledger IN ('available', 'outbound', 'disputed', 'owed') END) NOT VALID,
  -- `external` of an account is positive by as much as the account owes.
  DROP CONSTRAINT ledger_accounts_external_not_positive;

CREATE TABLE disputes (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  bank_id text NOT NULL,
  charge_id uuid NOT NULL,
  amount bigint NOT NULL,
  -- What left the account; the rest of a lost dispute was released.
  lost_amount bigint,
  status text NOT NULL,
  respond_by timestamptz(6),
  closed_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT disputes_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT disputes_account_id_charge_id_fkey FOREIGN KEY (account_id, charge_id)
    REFERENCES charges (account_id, id) ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT disputes_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT disputes_status_known CHECK (status IN ('open', 'won', 'lost')),
  CONSTRAINT disputes_closed_has_time CHECK ((status = 'open') = (closed_at IS NULL)),
  CONSTRAINT disputes_amount_positive CHECK (amount > 0),
  CONSTRAINT disputes_lost_within_amount CHECK ((status = 'lost') = (lost_amount IS NOT NULL)
    AND lost_amount BETWEEN 1 AND amount)
);
CREATE UNIQUE INDEX disputes_connection_id_bank_id_key ON disputes (connection_id, bank_id);
CREATE INDEX disputes_account_id_charge_id_idx ON disputes (account_id, charge_id);
CREATE TRIGGER disputes_guard_state BEFORE UPDATE ON disputes FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('open>won', 'open>lost');
CREATE TRIGGER disputes_subject_fixed BEFORE UPDATE OF bank_id, charge_id, created_at OR DELETE OR TRUNCATE
  ON disputes FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();

-- What the operator no longer demands of an account.
CREATE TABLE write_offs (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  amount bigint NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT write_offs_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT write_offs_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT write_offs_amount_positive CHECK (amount > 0)
);
CREATE TRIGGER write_offs_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON write_offs
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();
