-- The installation's connections to banks. A charge, withdrawal or refund keeps the connection that it
-- began with, a refund that of its charge; an account receives through one and pays out through one. docs/decisions/032.
--
-- Locks: ACCESS EXCLUSIVE on accounts, for milliseconds. No row is read or rewritten.
CREATE TABLE connections (
  id uuid NOT NULL,
  name text NOT NULL,
  kind text NOT NULL,
  environment text,
  profile text,
  settings json NOT NULL,
  sealed_credentials bytea,
  receiving_keys text[] DEFAULT ARRAY[]::text[],
  paying_key text,
  is_assignable boolean NOT NULL DEFAULT false,
  checked_at timestamptz(6),
  check_code text,
  disabled_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT connections_pkey PRIMARY KEY (id),
  CONSTRAINT connections_name_length CHECK (char_length(name) BETWEEN 1 AND 60),
  CONSTRAINT connections_kind_known CHECK (kind IN ('simulator', 'api_pix', 'efi')),
  CONSTRAINT connections_environment_known CHECK (environment IN ('homologation', 'production')),
  CONSTRAINT connections_environment_of_banks
    CHECK ((environment IS NULL) = (kind = 'simulator')),
  CONSTRAINT connections_one_simulator
    CHECK ((kind = 'simulator') = (id = '00000000-0000-7000-8000-000000000001')),
  CONSTRAINT connections_receiving_keys CHECK (receiving_keys IS NOT NULL),
  CONSTRAINT connections_checked CHECK ((checked_at IS NULL) = (check_code IS NULL)),
  -- The foreign keys of accounts point at it.
  CONSTRAINT connections_assignable CHECK (is_assignable
    = (COALESCE(environment = 'production', false) AND disabled_at IS NULL))
);
CREATE UNIQUE INDEX connections_name_key ON connections (name);
CREATE UNIQUE INDEX connections_id_is_assignable_key ON connections (id, is_assignable);

INSERT INTO connections (id, name, kind, settings)
VALUES ('00000000-0000-7000-8000-000000000001', 'simulator', 'simulator', '{}');

-- Only connections with is_assignable = true can be assigned: of a bank, for production, not disabled.
-- A connection in use cannot be disabled.
ALTER TABLE accounts
  ADD COLUMN receiving_connection_id uuid,
  ADD COLUMN paying_connection_id uuid,
  ADD COLUMN is_connection_assignable boolean NOT NULL DEFAULT true,
  ADD CONSTRAINT accounts_connection_assignable CHECK (is_connection_assignable) NOT VALID,
  ADD CONSTRAINT accounts_receiving_connection_id_fkey
    FOREIGN KEY (receiving_connection_id, is_connection_assignable)
    REFERENCES connections (id, is_assignable) ON DELETE RESTRICT ON UPDATE NO ACTION NOT VALID,
  ADD CONSTRAINT accounts_paying_connection_id_fkey
    FOREIGN KEY (paying_connection_id, is_connection_assignable)
    REFERENCES connections (id, is_assignable) ON DELETE RESTRICT ON UPDATE NO ACTION NOT VALID;
