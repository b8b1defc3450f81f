-- Fees of a bank, which the house pays, each once per connection and id of the bank.
--
-- Locks: none on existing tables.
CREATE TABLE bank_fees (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  bank_id text NOT NULL,
  amount bigint NOT NULL,
  charged_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT bank_fees_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT bank_fees_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections (id)
    ON DELETE RESTRICT ON UPDATE NO ACTION,
  CONSTRAINT bank_fees_of_house CHECK (account_id = '00000000-0000-7000-8000-000000000002'),
  CONSTRAINT bank_fees_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT bank_fees_amount_positive CHECK (amount > 0)
);
CREATE UNIQUE INDEX bank_fees_connection_id_bank_id_key ON bank_fees (connection_id, bank_id);
CREATE TRIGGER bank_fees_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON bank_fees
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();
