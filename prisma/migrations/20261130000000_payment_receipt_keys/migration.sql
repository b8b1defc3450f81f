-- Public keys that verify payment receipts. The private keys are derived from TROCO_SECRET and stored nowhere.
-- docs/decisions/045.
--
-- Locks: none on tables that exist.
CREATE TABLE payment_receipt_keys (
  id text NOT NULL,
  public_key text NOT NULL,
  number integer NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  withdrawn_at timestamptz(6),
  CONSTRAINT payment_receipt_keys_pkey PRIMARY KEY (id),
  CONSTRAINT payment_receipt_keys_id_form CHECK (id ~ '^[A-Za-z0-9_-]{16}$'),
  CONSTRAINT payment_receipt_keys_public_key_form CHECK (public_key ~ '^[A-Za-z0-9_-]{43}$'),
  CONSTRAINT payment_receipt_keys_number CHECK (number > 0)
);
