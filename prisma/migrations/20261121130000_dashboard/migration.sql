ALTER TABLE accounts ADD COLUMN time_zone text NOT NULL DEFAULT 'America/Sao_Paulo';

-- When the payer's page was first opened.
ALTER TABLE charges ADD COLUMN viewed_at timestamptz(6);

-- What a day brought, and how long payers took: read without touching the rows.
CREATE INDEX charges_paid_idx ON charges (account_id, mode, paid_at) INCLUDE (amount, created_at)
  WHERE paid_at IS NOT NULL;

-- The token that took this one's place.
ALTER TABLE tokens ADD COLUMN replaced_by uuid;

-- What the last check of an account's books found; wrong is null when they balance.
CREATE TABLE ledger_checks (
  account_id uuid NOT NULL,
  checked_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  wrong text,
  CONSTRAINT ledger_checks_pkey PRIMARY KEY (account_id),
  CONSTRAINT ledger_checks_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts (id)
    ON DELETE RESTRICT ON UPDATE CASCADE
);
