-- When and how an e-mail address was proven to belong to its user. is_email_verified repeats whether
-- it was, because a foreign key of memberships points at it.
--
-- Locks: ACCESS EXCLUSIVE on users, invitations and challenges, for milliseconds. No row is rewritten:
-- the one default is constant. The CHECKs read users and challenges once.
ALTER TABLE users
  ADD COLUMN email_verified_at timestamptz(6),
  ADD COLUMN email_verified_by text,
  ADD COLUMN is_email_verified boolean NOT NULL DEFAULT false,
  ADD CONSTRAINT users_email_verified CHECK (
    is_email_verified = (email_verified_at IS NOT NULL)
    AND is_email_verified = (email_verified_by IS NOT NULL)),
  ADD CONSTRAINT users_email_verified_by CHECK (email_verified_by IN
    ('sign_up', 'invitation', 'reset', 'link', 'openid', 'operator', 'migration'));

-- The secret that only the invitation's mail contains; `hash` is of the link shown to the inviter.
ALTER TABLE invitations ADD COLUMN mailed_hash bytea;
CREATE UNIQUE INDEX invitations_mailed_hash_key ON invitations (mailed_hash);

-- A membership that begins once the user has proven the e-mail address.
CREATE TABLE pending_memberships (
  account_id uuid NOT NULL,
  user_id uuid NOT NULL,
  role text NOT NULL,
  role_by uuid,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT pending_memberships_pkey PRIMARY KEY (account_id, user_id),
  CONSTRAINT pending_memberships_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
  CONSTRAINT pending_memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id),
  CONSTRAINT pending_memberships_role CHECK (role IN ('owner', 'finance', 'developer', 'viewer'))
);
CREATE INDEX pending_memberships_user_id_idx ON pending_memberships (user_id);

ALTER TABLE challenges DROP CONSTRAINT challenges_kind;
ALTER TABLE challenges ADD CONSTRAINT challenges_kind CHECK (kind IN
  ('second_factor', 'new_passkey', 'passkey', 'password_reset', 'sign_up', 'email', 'openid'));
