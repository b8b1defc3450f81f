-- The fingerprint of the TROCO_SECRET whose keys this database depends on; one row.
--
-- Locks: none, the table is new.
CREATE TABLE server_secrets (
  is_current boolean NOT NULL DEFAULT true,
  key_id text NOT NULL,
  set_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT server_secrets_pkey PRIMARY KEY (is_current),
  CONSTRAINT server_secrets_is_current CHECK (is_current)
);
