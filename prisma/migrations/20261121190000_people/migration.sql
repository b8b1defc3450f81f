-- Who signs in, by what, and who is asked to join.

ALTER TABLE users
  ADD COLUMN password_changed_at timestamptz(6),
  ADD COLUMN oidc_subject text;
CREATE UNIQUE INDEX users_oidc_subject_key ON users (oidc_subject);

-- The app on somebody's phone; without confirmed_at it was shown, and has not answered yet.
CREATE TABLE authenticators (
  user_id uuid NOT NULL,
  sealed bytea NOT NULL,
  last_counter bigint NOT NULL DEFAULT 0,
  confirmed_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT authenticators_pkey PRIMARY KEY (user_id),
  CONSTRAINT authenticators_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
);

CREATE TABLE recovery_codes (
  user_id uuid NOT NULL,
  hash bytea NOT NULL,
  used_at timestamptz(6),
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, hash),
  CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
);

CREATE TABLE passkeys (
  id uuid NOT NULL,
  user_id uuid NOT NULL,
  credential_id text NOT NULL,
  public_key bytea NOT NULL,
  counter bigint NOT NULL,
  transports text[] DEFAULT ARRAY[]::text[],
  name text NOT NULL,
  last_used_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT passkeys_pkey PRIMARY KEY (id),
  CONSTRAINT passkeys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
);
CREATE UNIQUE INDEX passkeys_credential_id_key ON passkeys (credential_id);
CREATE INDEX passkeys_user_id_idx ON passkeys (user_id);

-- What somebody has to answer within a time: who holds the secret of one may try it some times.
CREATE TABLE challenges (
  hash bytea NOT NULL,
  kind text NOT NULL,
  user_id uuid,
  value text,
  tries integer NOT NULL DEFAULT 0,
  expires_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT challenges_pkey PRIMARY KEY (hash),
  CONSTRAINT challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id),
  CONSTRAINT challenges_kind CHECK (kind IN
    ('second_factor', 'new_passkey', 'passkey', 'password_reset')),
  CONSTRAINT challenges_tries CHECK (tries >= 0)
);
CREATE INDEX challenges_user_id_idx ON challenges (user_id);
CREATE INDEX challenges_expires_at_idx ON challenges (expires_at);

ALTER TABLE sign_in_tries DROP CONSTRAINT sign_in_tries_scope;
ALTER TABLE sign_in_tries ADD CONSTRAINT sign_in_tries_scope CHECK (scope IN
  ('address', 'person', 'second_factor', 'reset', 'reset_address', 'sign_up'));

-- Without an account it is the operator's: whoever has it may open one.
CREATE TABLE invitations (
  id uuid NOT NULL,
  hash bytea NOT NULL,
  account_id uuid,
  email text NOT NULL,
  role text NOT NULL,
  invited_by uuid,
  expires_at timestamptz(6) NOT NULL,
  accepted_at timestamptz(6),
  revoked_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT invitations_pkey PRIMARY KEY (id),
  CONSTRAINT invitations_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
  CONSTRAINT invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES users (id),
  CONSTRAINT invitations_role CHECK (role IN ('owner', 'finance', 'developer', 'viewer'))
);
CREATE UNIQUE INDEX invitations_hash_key ON invitations (hash);
CREATE UNIQUE INDEX invitations_open_key ON invitations (account_id, email) NULLS NOT DISTINCT
  WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- The row is the job: it goes once it was sent.
CREATE TABLE mails (
  id uuid NOT NULL,
  sealed bytea NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz(6),
  failed_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT mails_pkey PRIMARY KEY (id)
);
CREATE INDEX mails_due_at_idx ON mails (due_at) WHERE due_at IS NOT NULL;

-- What an account may move in live mode; null is no limit.
ALTER TABLE accounts
  ADD COLUMN charge_max bigint,
  ADD COLUMN withdrawal_max bigint,
  ADD COLUMN night_max bigint,
  ADD CONSTRAINT accounts_limits CHECK (charge_max >= 500 AND withdrawal_max >= 1 AND night_max >= 0);

ALTER TABLE tokens ADD COLUMN revoked_by uuid REFERENCES users (id);

CREATE INDEX audit_log_action_id_idx ON audit_log (action, id);
CREATE INDEX audit_log_actor_id_id_idx ON audit_log (actor_id, id);
