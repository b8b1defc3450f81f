-- The whole schema. Until version 1.0 this file is edited instead of followed by another migration
-- (docs/decisions/008); the migrator refuses a database that another state of it made. What Prisma can express
-- is also in schema.prisma, and lib/db/catalog.test.ts compares the two. Functions: prisma/functions.
-- Each table says what it holds and what bounds its growth.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- Functions that triggers and CHECKs below call. The files of prisma/functions replace them.
CREATE FUNCTION troco_forget_check() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not installed'; END $$;
CREATE FUNCTION troco_guard_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not installed'; END $$;
CREATE FUNCTION troco_is_movement(account_id uuid, kind text, debit text, credit text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN RAISE EXCEPTION 'not installed'; END $$;
CREATE FUNCTION troco_match_transfers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not installed'; END $$;
CREATE FUNCTION troco_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not installed'; END $$;
CREATE FUNCTION troco_refuse_other_charge() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not installed'; END $$;
CREATE FUNCTION troco_touch_queues() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not installed'; END $$;

-- ======== People ========

-- A person with a sign-in. Growth: one per person, never deleted.
CREATE TABLE users (
  id uuid NOT NULL,
  email text NOT NULL,
  name text NOT NULL,
  password_hash text,
  is_admin boolean NOT NULL DEFAULT false,
  locale text,
  theme text,
  disabled_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  password_changed_at timestamptz(6),
  oidc_subject text,
  devices_ended_at timestamptz(6),
  email_verified_at timestamptz(6),
  email_verified_by text,
  is_email_verified boolean NOT NULL DEFAULT false,
  admin_since timestamptz(6),
  admin_by uuid,
  reset_at timestamptz(6),
  reset_by uuid,
  CONSTRAINT users_pkey PRIMARY KEY (id),
  CONSTRAINT users_email_ascii CHECK (email = lower(email COLLATE "C") AND email ~ '^[\x21-\x7e]+$'),
  CONSTRAINT users_email_verified CHECK (is_email_verified = (email_verified_at IS NOT NULL)
    AND is_email_verified = (email_verified_by IS NOT NULL)),
  CONSTRAINT users_email_verified_by CHECK (email_verified_by IN ('sign_up', 'invitation', 'reset', 'link',
    'openid', 'operator'))
);
CREATE UNIQUE INDEX users_email_key ON users (email);
CREATE UNIQUE INDEX users_id_is_email_verified_key ON users (id, is_email_verified);
CREATE UNIQUE INDEX users_oidc_subject_key ON users (oidc_subject);

-- A signed-in browser. Growth: deleted when expired.
CREATE TABLE user_sessions (
  id uuid NOT NULL,
  secret_hash bytea NOT NULL,
  user_id uuid NOT NULL,
  ip text,
  user_agent text,
  proved_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  last_used_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  expires_at timestamptz(6) NOT NULL,
  revoked_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  viewed_account_id uuid,
  viewing_until timestamptz(6),
  CONSTRAINT user_sessions_pkey PRIMARY KEY (id),
  CONSTRAINT user_sessions_user_id_fkey FOREIGN KEY (user_id)
    REFERENCES users(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT user_sessions_secret_hash_length CHECK (octet_length(secret_hash) = 32),
  CONSTRAINT user_sessions_viewing_complete CHECK (num_nulls(viewed_account_id, viewing_until) IN (0, 2))
);
CREATE UNIQUE INDEX user_sessions_secret_hash_key ON user_sessions (secret_hash);
CREATE INDEX user_sessions_user_id_idx ON user_sessions (user_id);

-- The authenticator app of a user. Growth: one per user.
CREATE TABLE authenticators (
  user_id uuid NOT NULL,
  sealed bytea NOT NULL,
  last_counter bigint NOT NULL DEFAULT 0,
  confirmed_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT authenticators_pkey PRIMARY KEY (user_id),
  CONSTRAINT authenticators_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);

-- Single-use codes that replace the authenticator app. Growth: ten per user.
CREATE TABLE recovery_codes (
  user_id uuid NOT NULL,
  hash bytea NOT NULL,
  used_at timestamptz(6),
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, hash),
  CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);

-- Passkeys of users. Growth: limited per user.
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
  CONSTRAINT passkeys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE UNIQUE INDEX passkeys_credential_id_key ON passkeys (credential_id);
CREATE INDEX passkeys_user_id_idx ON passkeys (user_id);

-- Hashes of links and challenges sent to a person or browser. Growth: deleted when expired.
CREATE TABLE challenges (
  hash bytea NOT NULL,
  kind text NOT NULL,
  user_id uuid,
  value text,
  attempts integer NOT NULL DEFAULT 0,
  expires_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT challenges_pkey PRIMARY KEY (hash),
  CONSTRAINT challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT challenges_kind CHECK (kind IN ('second_factor', 'new_passkey', 'passkey', 'password_reset',
    'sign_up', 'email', 'openid')),
  CONSTRAINT challenges_attempts CHECK (attempts >= 0)
);
CREATE INDEX challenges_expires_at_idx ON challenges (expires_at);
CREATE INDEX challenges_user_id_idx ON challenges (user_id);

-- Failed sign-in attempts per address and name. Growth: deleted when the window ends.
CREATE TABLE sign_in_attempts (
  scope text NOT NULL,
  key text NOT NULL,
  attempts integer NOT NULL,
  ends_at timestamptz(6) NOT NULL,
  CONSTRAINT sign_in_attempts_pkey PRIMARY KEY (scope, key),
  CONSTRAINT sign_in_attempts_scope CHECK (scope IN ('address', 'person', 'second_factor', 'reset', 'reset_address',
    'sign_up', 'device', 'factor', 'challenge', 'sign_in', 'sign_up_mail', 'invitation_mail', 'email_link'))
);

-- Mails that wait to be sent. Growth: deleted when sent, or a week after the last failure.
CREATE TABLE mails (
  id uuid NOT NULL,
  sealed bytea NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz(6),
  lease uuid,
  failed_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT mails_pkey PRIMARY KEY (id)
);
CREATE INDEX mails_due_at_idx ON mails (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX mails_lease_idx ON mails (lease) WHERE lease IS NOT NULL;

-- ======== Accounts ========

-- A merchant; one with a fixed id is the operator's, for trials of connections. Growth: one per merchant.
CREATE TABLE accounts (
  id uuid NOT NULL,
  name text NOT NULL,
  city text NOT NULL DEFAULT 'BRASILIA',
  status text NOT NULL DEFAULT 'active',
  status_reason text,
  expires_in integer NOT NULL DEFAULT 86400,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  time_zone text NOT NULL DEFAULT 'America/Sao_Paulo',
  charge_max bigint,
  withdrawal_max bigint,
  night_max bigint,
  approval_new_keys boolean NOT NULL DEFAULT false,
  approval_above bigint,
  approval_day_above bigint,
  approval_kept_until timestamptz(6),
  receiving_connection_id uuid,
  paying_connection_id uuid,
  is_connection_assignable boolean NOT NULL DEFAULT true,
  day_max bigint,
  charge_review_above bigint,
  repeats_external_ids boolean NOT NULL DEFAULT false,
  live_requested_at timestamptz(6),
  shop_url text,
  cnpj text,
  CONSTRAINT accounts_pkey PRIMARY KEY (id),
  CONSTRAINT accounts_approval_above_range CHECK (approval_above BETWEEN 0 AND '999999999999'),
  CONSTRAINT accounts_approval_day_above_range CHECK (approval_day_above BETWEEN 0 AND '999999999999'),
  CONSTRAINT accounts_charge_review_above_range CHECK (charge_review_above BETWEEN 0 AND '999999999999'),
  CONSTRAINT accounts_cnpj_form CHECK (cnpj ~ '^[0-9A-Z]{12}[0-9]{2}$'),
  CONSTRAINT accounts_connection_assignable CHECK (is_connection_assignable),
  CONSTRAINT accounts_day_max_range CHECK (day_max BETWEEN 0 AND '999999999999'),
  CONSTRAINT accounts_expires_in_range CHECK (expires_in BETWEEN 60 AND 2592000),
  CONSTRAINT accounts_limits CHECK (charge_max >= 500 AND withdrawal_max >= 1 AND night_max >= 0),
  CONSTRAINT accounts_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
  CONSTRAINT accounts_not_operator CHECK (id <> '00000000-0000-7000-8000-000000000002'),
  CONSTRAINT accounts_status_known CHECK (status IN ('active', 'pending', 'suspended'))
);

-- Which user belongs to which account, with a role. Growth: one per member.
CREATE TABLE memberships (
  account_id uuid NOT NULL,
  user_id uuid NOT NULL,
  role text NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  is_email_verified boolean NOT NULL DEFAULT true,
  role_at timestamptz(6),
  role_by uuid,
  role_via uuid[],
  CONSTRAINT memberships_pkey PRIMARY KEY (account_id, user_id),
  CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id, is_email_verified)
    REFERENCES users(id, is_email_verified) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT memberships_email_verified CHECK (is_email_verified),
  CONSTRAINT memberships_role_known CHECK (role IN ('owner', 'finance', 'developer', 'viewer'))
);
CREATE INDEX memberships_user_id_idx ON memberships (user_id);

-- The owner of a new account whose e-mail is not proven yet. Growth: one per account without an owner.
CREATE TABLE pending_memberships (
  account_id uuid NOT NULL,
  user_id uuid NOT NULL,
  role text NOT NULL,
  role_by uuid,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  role_via uuid[],
  CONSTRAINT pending_memberships_pkey PRIMARY KEY (account_id, user_id),
  CONSTRAINT pending_memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT pending_memberships_role CHECK (role IN ('owner', 'finance', 'developer', 'viewer'))
);
CREATE INDEX pending_memberships_user_id_idx ON pending_memberships (user_id);

-- Who left an account, so that records name them. Growth: one per person that left.
CREATE TABLE former_members (
  account_id uuid NOT NULL,
  user_id uuid NOT NULL,
  vouchers uuid[],
  left_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT former_members_pkey PRIMARY KEY (account_id, user_id),
  CONSTRAINT former_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT former_members_vouchers CHECK (vouchers IS NOT NULL)
);

-- Invitations to an account. Growth: limited per account and day.
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
  mailed_hash bytea,
  CONSTRAINT invitations_pkey PRIMARY KEY (id),
  CONSTRAINT invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES users(id),
  CONSTRAINT invitations_role CHECK (role IN ('owner', 'finance', 'developer', 'viewer'))
);
CREATE UNIQUE INDEX invitations_hash_key ON invitations (hash);
CREATE UNIQUE INDEX invitations_mailed_hash_key ON invitations (mailed_hash);
CREATE UNIQUE INDEX invitations_open_key ON invitations (account_id, email) NULLS NOT DISTINCT
  WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- Proposed changes of the rule of approval. Growth: one per change that a person makes.
CREATE TABLE approval_changes (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  new_keys boolean NOT NULL,
  above bigint,
  day_above bigint,
  requested_by uuid NOT NULL,
  barred uuid[],
  expires_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT approval_changes_pkey PRIMARY KEY (account_id),
  CONSTRAINT approval_changes_account_id_fkey FOREIGN KEY (account_id)
    REFERENCES accounts(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT approval_changes_above_range CHECK (above BETWEEN 0 AND '999999999999'),
  CONSTRAINT approval_changes_barred CHECK (barred IS NOT NULL),
  CONSTRAINT approval_changes_day_above_range CHECK (day_above BETWEEN 0 AND '999999999999')
);

-- Debts of merchants that the operator gave up. Growth: one per decision of staff.
CREATE TABLE write_offs (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  amount bigint NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT write_offs_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT write_offs_amount_positive CHECK (amount > 0),
  CONSTRAINT write_offs_mode_known CHECK (mode IN ('test', 'live'))
);
CREATE TRIGGER write_offs_append_only
  BEFORE DELETE OR UPDATE OR TRUNCATE ON write_offs FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- ======== Banks: connections ========

-- A connection to a bank, and the simulated bank (one fixed id). Growth: one per bank account.
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
  payout_max bigint,
  payout_day_max bigint,
  notice_secret_number integer NOT NULL DEFAULT 1,
  notice_rotated_at timestamptz(6),
  notice_cidrs text[] DEFAULT ARRAY[]::text[],
  notice_certificate boolean NOT NULL DEFAULT false,
  certificate_warned_until timestamptz(3),
  certificate_warned_days integer,
  CONSTRAINT connections_pkey PRIMARY KEY (id),
  CONSTRAINT connections_assignable CHECK (is_assignable = (COALESCE(environment = 'production', false)
    AND disabled_at IS NULL)),
  CONSTRAINT connections_certificate_warned CHECK (certificate_warned_until IS NULL = (certificate_warned_days IS NULL)),
  CONSTRAINT connections_checked CHECK (checked_at IS NULL = (check_code IS NULL)),
  CONSTRAINT connections_environment_known CHECK (environment IN ('homologation', 'production')),
  CONSTRAINT connections_environment_of_banks CHECK (environment IS NULL = (kind = 'simulator')),
  CONSTRAINT connections_kind_known CHECK (kind IN ('simulator', 'api_pix', 'efi')),
  CONSTRAINT connections_name_length CHECK (char_length(name) BETWEEN 1 AND 60),
  CONSTRAINT connections_notice_cidrs CHECK (notice_cidrs IS NOT NULL),
  CONSTRAINT connections_notice_secret_number CHECK (notice_secret_number > 0),
  CONSTRAINT connections_one_simulator CHECK ((kind = 'simulator') = (id = '00000000-0000-7000-8000-000000000001')),
  CONSTRAINT connections_payout_day_max_range CHECK (payout_day_max BETWEEN 0 AND '999999999999'),
  CONSTRAINT connections_payout_max_range CHECK (payout_max BETWEEN 1 AND '999999999999'),
  CONSTRAINT connections_receiving_keys CHECK (receiving_keys IS NOT NULL)
);
CREATE UNIQUE INDEX connections_id_is_assignable_key ON connections (id, is_assignable);
CREATE UNIQUE INDEX connections_name_key ON connections (name);
CREATE TRIGGER connections_check_forgotten
  BEFORE UPDATE ON connections FOR EACH ROW WHEN (((new.sealed_credentials IS DISTINCT FROM old.sealed_credentials)
    OR (new.kind <> old.kind) OR (new.environment IS DISTINCT FROM old.environment)
      OR (new.profile IS DISTINCT FROM old.profile)
        OR (((new.settings)::jsonb - 'payouts_in_flight'::text) <> ((old.settings)::jsonb - 'payouts_in_flight'::text))))
  EXECUTE FUNCTION troco_forget_check();

-- The circuit breaker of a connection and function. Growth: one per connection and function.
CREATE TABLE connection_states (
  connection_id uuid NOT NULL,
  failures integer NOT NULL DEFAULT 0,
  rests integer NOT NULL DEFAULT 0,
  opened_at timestamptz(6),
  retry_at timestamptz(6),
  probe_until timestamptz(6),
  blocks jsonb NOT NULL DEFAULT jsonb_build_object(),
  CONSTRAINT connection_states_pkey PRIMARY KEY (connection_id),
  CONSTRAINT connection_states_counts CHECK (failures >= 0 AND rests >= 0),
  CONSTRAINT connection_states_rest CHECK (opened_at IS NULL = (retry_at IS NULL) AND (probe_until IS NULL
    OR opened_at IS NOT NULL))
);

-- ======== Tokens ========

-- API tokens, as HMAC. Growth: limited per account; revoked ones stay for the audit log.
CREATE TABLE tokens (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  name text NOT NULL,
  hash bytea NOT NULL,
  prefix text NOT NULL,
  last_four text NOT NULL,
  permissions text[],
  expires_at timestamptz(6),
  last_used_at timestamptz(6),
  revoked_at timestamptz(6),
  revoked_reason text,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  replaced_by uuid,
  revoked_by uuid,
  issued_by uuid,
  former_issuers uuid[] DEFAULT ARRAY[]::uuid[],
  allowed_addresses text[] DEFAULT ARRAY[]::text[],
  parent_id uuid,
  CONSTRAINT tokens_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT tokens_account_id_fkey FOREIGN KEY (account_id)
    REFERENCES accounts(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT tokens_allowed_addresses_count CHECK (allowed_addresses IS NOT NULL
    AND cardinality(allowed_addresses) <= 20),
  CONSTRAINT tokens_child_creates_none CHECK (parent_id IS NULL OR NOT 'tokens:write' = ANY (permissions)),
  CONSTRAINT tokens_hash_length CHECK (octet_length(hash) = 32),
  CONSTRAINT tokens_mode_known CHECK (mode IN ('test', 'live'))
);
CREATE INDEX tokens_children_idx ON tokens (account_id, parent_id, id) WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX tokens_hash_key ON tokens (hash);
CREATE INDEX tokens_working_idx ON tokens (account_id, COALESCE(expires_at, 'infinity'::timestamp with time zone))
  WHERE revoked_at IS NULL;

-- ======== Ledger ========

-- The balances: a few per account and mode. Growth: three to five per account and mode.
CREATE TABLE ledger_accounts (
  account_id uuid NOT NULL,
  mode text NOT NULL,
  ledger text NOT NULL,
  balance bigint NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 0,
  owed bigint NOT NULL DEFAULT 0,
  CONSTRAINT ledger_accounts_pkey PRIMARY KEY (account_id, mode, ledger),
  CONSTRAINT ledger_accounts_available_not_negative CHECK (ledger <> 'available' OR balance >= 0),
  CONSTRAINT ledger_accounts_disputed_not_negative CHECK (ledger <> 'disputed' OR balance >= 0),
  CONSTRAINT ledger_accounts_ledger_known CHECK (ledger = 'external'
    OR CASE account_id WHEN '00000000-0000-7000-8000-000000000002' THEN ledger IN ('own', 'unmatched')
      ELSE ledger IN ('available', 'outbound', 'disputed', 'owed') END),
  CONSTRAINT ledger_accounts_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT ledger_accounts_outbound_not_negative CHECK (ledger <> 'outbound' OR balance >= 0),
  CONSTRAINT ledger_accounts_owed_first CHECK (owed = 0 OR ledger = 'available' AND owed > 0 AND balance = 0),
  CONSTRAINT ledger_accounts_owed_not_positive CHECK (ledger <> 'owed' OR balance <= 0),
  CONSTRAINT ledger_accounts_unmatched_not_negative CHECK (ledger <> 'unmatched' OR balance >= 0),
  CONSTRAINT ledger_accounts_version_counts CHECK (version >= 0)
) WITH (fillfactor='50');
CREATE TRIGGER ledger_accounts_kept
  BEFORE DELETE OR UPDATE OF account_id, mode, ledger OR TRUNCATE ON ledger_accounts FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- Movements of money; kind and subject are the idempotency of each movement. Growth: one per movement, never
-- deleted.
CREATE TABLE ledger_transfers (
  account_id uuid NOT NULL,
  kind text NOT NULL,
  subject_id uuid NOT NULL,
  mode text NOT NULL,
  debit text NOT NULL,
  credit text NOT NULL,
  amount bigint NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  connection_id uuid DEFAULT '00000000-0000-7000-8000-000000000001',
  CONSTRAINT ledger_transfers_pkey PRIMARY KEY (account_id, kind, subject_id),
  CONSTRAINT ledger_transfers_amount_positive CHECK (amount > 0),
  CONSTRAINT ledger_transfers_connection_of_external CHECK (CASE
    WHEN 'external' = debit OR 'external' = credit THEN connection_id IS NOT NULL
    ELSE connection_id IS NULL OR connection_id = '00000000-0000-7000-8000-000000000001'
    END),
  CONSTRAINT ledger_transfers_kind_known CHECK (troco_is_movement(account_id, kind, debit, credit)),
  CONSTRAINT ledger_transfers_mode_known CHECK (mode IN ('test', 'live'))
);
CREATE INDEX ledger_transfers_connection_idx ON ledger_transfers (connection_id, created_at) INCLUDE (debit,
  credit, amount)
  WHERE mode = 'live' AND connection_id IS NOT NULL;
CREATE TRIGGER ledger_transfers_append_only
  BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_transfers FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- Both sides of each transfer, with the balance after it. Growth: two per transfer, never deleted.
CREATE TABLE ledger_entries (
  account_id uuid NOT NULL,
  mode text NOT NULL,
  ledger text NOT NULL,
  version bigint NOT NULL,
  kind text NOT NULL,
  subject_id uuid NOT NULL,
  amount bigint NOT NULL,
  balance_after bigint NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT ledger_entries_pkey PRIMARY KEY (account_id, mode, ledger, version),
  CONSTRAINT ledger_entries_amount_moves CHECK (amount <> 0),
  CONSTRAINT ledger_entries_version_counts CHECK (version >= 1)
);
CREATE UNIQUE INDEX ledger_entries_account_id_kind_subject_id_ledger_key ON ledger_entries (account_id, kind,
  subject_id, ledger);
CREATE TRIGGER ledger_entries_append_only
  BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_entries FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();
CREATE TRIGGER ledger_entries_match_transfers
  AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
  EXECUTE FUNCTION troco_match_transfers();

-- Result of the last check of an account's ledger. Growth: one per account.
CREATE TABLE ledger_checks (
  account_id uuid NOT NULL,
  checked_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  wrong text,
  CONSTRAINT ledger_checks_pkey PRIMARY KEY (account_id)
);

-- The last verified entry of a ledger: a check begins after it. Growth: one per ledger.
CREATE TABLE ledger_marks (
  account_id uuid NOT NULL,
  mode text NOT NULL,
  ledger text NOT NULL,
  version bigint NOT NULL,
  balance bigint NOT NULL,
  CONSTRAINT ledger_marks_pkey PRIMARY KEY (account_id, mode, ledger)
);

-- How far the older rows of a table are verified again, and how many they were in the last round. Growth: 13 per
-- account.
CREATE TABLE ledger_slices (
  account_id uuid NOT NULL,
  part text NOT NULL,
  position text[],
  rows integer NOT NULL DEFAULT 0,
  rows_before integer,
  begun_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT ledger_slices_pkey PRIMARY KEY (account_id, part)
);

-- One movement and the event about it, as prisma/functions/troco_book.sql takes them. Another attribute would break
-- processes that run: it needs another type.
CREATE TYPE troco_booking AS (
  account_id uuid,
  mode text,
  id uuid,
  amount bigint,
  connection_id uuid,
  booked_at timestamptz,
  event_id uuid,
  subject_id uuid,
  resource json,
  trace text,
  webhook_url text,
  webhook_host text
);

-- ======== Charges ========

-- Charges, transactions on the wire. Growth: one per charge, never deleted.
CREATE TABLE charges (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  external_id text NOT NULL,
  txid text NOT NULL,
  br_code text,
  client_name text NOT NULL,
  client_email text NOT NULL,
  client_doc text NOT NULL,
  client_phone text,
  webhook_url text,
  ip text,
  metadata json,
  utms json,
  items json,
  end_to_end_id text,
  refunded_amount bigint NOT NULL DEFAULT 0,
  refund_held_amount bigint NOT NULL DEFAULT 0,
  returned_amount bigint NOT NULL DEFAULT 0,
  expires_at timestamptz(6) NOT NULL,
  paid_at timestamptz(6),
  due_at timestamptz(6),
  lease uuid,
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  viewed_at timestamptz(6),
  webhook_host text,
  webhook_masked boolean NOT NULL DEFAULT false,
  connection_id uuid NOT NULL DEFAULT '00000000-0000-7000-8000-000000000001',
  cancelled_at timestamptz(6),
  description text,
  external_id_slot smallint DEFAULT 0,
  payer_name text,
  payer_doc text,
  payer_bank text,
  CONSTRAINT charges_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT charges_account_id_fkey FOREIGN KEY (account_id)
    REFERENCES accounts(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT charges_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE RESTRICT,
  CONSTRAINT charges_amount_range CHECK (amount BETWEEN CASE account_id
    WHEN '00000000-0000-7000-8000-000000000003' THEN 1 ELSE 500 END AND '999999999999'),
  CONSTRAINT charges_cancelled_has_ended CHECK (cancelled_at IS NULL OR status IN ('expired', 'paid')),
  CONSTRAINT charges_code_known CHECK (status = 'opening' OR br_code IS NOT NULL),
  CONSTRAINT charges_description_length CHECK (char_length(description) BETWEEN 1 AND 140),
  CONSTRAINT charges_external_id_length CHECK (char_length(external_id) BETWEEN 1 AND 255),
  CONSTRAINT charges_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT charges_paid_has_time CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
  CONSTRAINT charges_refunds_within_paid CHECK (refunded_amount >= 0
    AND refund_held_amount >= 0
    AND refunded_amount + refund_held_amount <= CASE WHEN status = 'paid' THEN amount ELSE 0 END),
  CONSTRAINT charges_returned_within_paid CHECK (returned_amount BETWEEN 0 AND CASE status
    WHEN 'paid' THEN amount ELSE 0 END),
  -- The operator tries connections for homologation with its trial account, in test mode.
  CONSTRAINT charges_simulator_in_test CHECK ((mode = 'test') = (connection_id = '00000000-0000-7000-8000-000000000001')
    OR mode = 'test' AND account_id = '00000000-0000-7000-8000-000000000003'),
  CONSTRAINT charges_status_known CHECK (status IN ('opening', 'pending', 'paid', 'expired', 'failed')),
  CONSTRAINT charges_webhook_has_host CHECK (num_nulls(webhook_url, webhook_host) IN (0, 2))
);
CREATE UNIQUE INDEX charges_account_id_mode_external_id_key ON charges (account_id, mode, external_id,
  external_id_slot);
CREATE INDEX charges_cancelled_idx ON charges (account_id, mode, id) WHERE cancelled_at IS NOT NULL;
CREATE INDEX charges_closed_idx ON charges (account_id, mode, status, id)
  WHERE status IN ('paid', 'expired', 'failed');
CREATE INDEX charges_connection_due_idx ON charges (connection_id, due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX charges_end_to_end_id_key ON charges (end_to_end_id) WHERE end_to_end_id IS NOT NULL;
CREATE INDEX charges_end_to_end_tail_idx ON charges (account_id, mode, upper(reverse(end_to_end_id)) COLLATE "C")
  WHERE end_to_end_id IS NOT NULL;
CREATE INDEX charges_lease_idx ON charges (lease) WHERE lease IS NOT NULL;
CREATE INDEX charges_list_idx ON charges (account_id, mode, id) INCLUDE (status, amount, created_at)
  WHERE status <> 'opening';
CREATE INDEX charges_paid_idx ON charges (account_id, mode, paid_at) INCLUDE (amount, created_at)
  WHERE paid_at IS NOT NULL;
CREATE INDEX charges_refunded_idx ON charges (account_id, mode, id) WHERE refunded_amount > 0;
CREATE INDEX charges_repeats_idx ON charges (account_id, mode) WHERE external_id_slot IS NULL;
CREATE UNIQUE INDEX charges_txid_key ON charges (txid);
CREATE TRIGGER charges_guard_state
  BEFORE UPDATE ON charges FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('opening>pending', 'opening>failed', 'pending>paid', 'pending>expired',
    'pending>failed', 'expired>paid', 'failed>paid');

-- Words of a charge for the search of the dashboard. Growth: one per charge.
CREATE TABLE charge_searches (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  words text NOT NULL,
  doc text NOT NULL,
  amount bigint NOT NULL,
  CONSTRAINT charge_searches_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT charge_searches_mode_known CHECK (mode IN ('test', 'live'))
);
CREATE INDEX charge_searches_account_id_mode_amount_id_idx ON charge_searches (account_id, mode, amount, id);
CREATE INDEX charge_searches_account_id_mode_doc_id_idx ON charge_searches (account_id, mode, doc, id);
CREATE INDEX charge_searches_words_idx ON charge_searches USING gin (words gin_trgm_ops) WITH (gin_pending_list_limit='512')
  WHERE mode IN ('test', 'live');

-- Up to which charge the search is complete. Growth: one per account and mode.
CREATE TABLE charge_search_marks (
  account_id uuid NOT NULL,
  mode text NOT NULL,
  id uuid NOT NULL,
  CONSTRAINT charge_search_marks_pkey PRIMARY KEY (account_id, mode),
  CONSTRAINT charge_search_marks_mode_known CHECK (mode IN ('test', 'live'))
);

-- End-to-end ids that have been booked, each once per connection. Growth: one per payment, never deleted.
CREATE TABLE booked_payments (
  end_to_end_id text NOT NULL,
  connection_id uuid NOT NULL,
  account_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  CONSTRAINT booked_payments_pkey PRIMARY KEY (end_to_end_id)
);
CREATE UNIQUE INDEX booked_payments_account_id_subject_id_key ON booked_payments (account_id, subject_id);

-- Refunds of charges. Growth: one per refund, never deleted.
CREATE TABLE refunds (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  charge_id uuid NOT NULL,
  mode text NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  reason text,
  -- The merchant's id, of a refund by API Pix.
  external_id text,
  rejection_reason text,
  return_id text,
  completed_at timestamptz(6),
  rejected_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  rejection_code text,
  rejection_params json,
  connection_id uuid NOT NULL DEFAULT '00000000-0000-7000-8000-000000000001',
  bank_text text,
  trace text,
  CONSTRAINT refunds_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT refunds_account_id_charge_id_fkey FOREIGN KEY (account_id, charge_id)
    REFERENCES charges(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT refunds_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE RESTRICT,
  CONSTRAINT refunds_amount_positive CHECK (amount > 0),
  CONSTRAINT refunds_completed_has_time CHECK ((status = 'completed') = (completed_at IS NOT NULL)),
  CONSTRAINT refunds_external_id_form CHECK (external_id ~ '^[a-zA-Z0-9]{1,35}$'),
  CONSTRAINT refunds_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT refunds_rejected_has_reason CHECK ((status = 'rejected') = (rejection_reason IS NOT NULL)),
  CONSTRAINT refunds_rejected_has_time CHECK ((status = 'rejected') = (rejected_at IS NOT NULL)),
  CONSTRAINT refunds_rejection_code_complete CHECK (rejection_code IS NULL = (rejection_params IS NULL)
    AND (rejection_code IS NULL OR rejection_reason IS NOT NULL)),
  CONSTRAINT refunds_rejection_code_known CHECK (rejection_code IN ('key_refused', 'owner_differs',
    'account_unknown', 'account_blocked', 'account_closed', 'not_supported', 'above_limit', 'amount_refused',
      'receiver_refused', 'not_in_pix', 'regulation', 'denied', 'try_later', 'simulated', 'unspecified', 'other',
      'ended_unsent')),
  -- The operator tries connections for homologation with its trial account, in test mode.
  CONSTRAINT refunds_simulator_in_test CHECK ((mode = 'test') = (connection_id = '00000000-0000-7000-8000-000000000001')
    OR mode = 'test' AND account_id = '00000000-0000-7000-8000-000000000003'),
  CONSTRAINT refunds_status_known CHECK (status IN ('pending', 'completed', 'rejected'))
);
CREATE INDEX refunds_account_id_charge_id_idx ON refunds (account_id, charge_id);
CREATE UNIQUE INDEX refunds_external_id_key ON refunds (account_id, charge_id, external_id)
  WHERE external_id IS NOT NULL;
CREATE INDEX refunds_pending_idx ON refunds (account_id, mode) INCLUDE (amount) WHERE status = 'pending';
CREATE UNIQUE INDEX refunds_return_id_key ON refunds (return_id) WHERE return_id IS NOT NULL;
CREATE TRIGGER refunds_charge_fixed
  BEFORE UPDATE OF charge_id ON refunds FOR EACH ROW WHEN ((new.charge_id <> old.charge_id))
  EXECUTE FUNCTION troco_refuse_other_charge();
CREATE TRIGGER refunds_guard_state
  BEFORE UPDATE ON refunds FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('pending>completed', 'pending>rejected');

-- Disputes (MED) of charges. Growth: one per dispute, never deleted.
CREATE TABLE disputes (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  bank_id text NOT NULL,
  charge_id uuid NOT NULL,
  amount bigint NOT NULL,
  lost_amount bigint,
  -- What the bank's returns, or refunds, had taken of it before.
  returned_amount bigint NOT NULL DEFAULT 0,
  status text NOT NULL,
  respond_by timestamptz(6),
  closed_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  answer text,
  answer_state text,
  answered_by uuid,
  answered_at timestamptz(6),
  CONSTRAINT disputes_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT disputes_account_id_charge_id_fkey FOREIGN KEY (account_id, charge_id)
    REFERENCES charges(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT disputes_amount_positive CHECK (amount > 0),
  CONSTRAINT disputes_answer_complete CHECK (answer IS NULL = (answered_at IS NULL)
    AND answer IS NULL = (answered_by IS NULL)
    AND (answer IS NULL OR answer_state IS NOT NULL AND (char_length(answer) BETWEEN 1 AND 2000))
    AND (answer IS NOT NULL OR answer_state IS NULL OR answer_state = 'taken')),
  CONSTRAINT disputes_answer_state_known CHECK (answer_state IN ('pending', 'taken', 'late', 'refused', 'unsent')),
  CONSTRAINT disputes_closed_has_time CHECK ((status = 'open') = (closed_at IS NULL)),
  CONSTRAINT disputes_lost_within_amount CHECK ((status = 'lost') = (lost_amount IS NOT NULL)
    AND (lost_amount BETWEEN 1 AND amount)),
  CONSTRAINT disputes_returned_within_amount CHECK (returned_amount BETWEEN 0 AND amount),
  CONSTRAINT disputes_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT disputes_status_known CHECK (status IN ('open', 'won', 'lost'))
);
CREATE INDEX disputes_account_id_charge_id_idx ON disputes (account_id, charge_id);
CREATE UNIQUE INDEX disputes_connection_id_bank_id_key ON disputes (connection_id, bank_id);
CREATE TRIGGER disputes_guard_state
  BEFORE UPDATE ON disputes FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('open>won', 'open>lost');
CREATE TRIGGER disputes_subject_fixed
  BEFORE DELETE OR UPDATE OF bank_id, charge_id, created_at OR TRUNCATE ON disputes FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- What merchants send the operator for the defense in a dispute. Growth: at most ten per dispute, never deleted.
CREATE TABLE dispute_evidence (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  dispute_id uuid NOT NULL,
  text text,
  file bytea,
  file_type text,
  file_name text,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT dispute_evidence_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT dispute_evidence_account_id_dispute_id_fkey FOREIGN KEY (account_id, dispute_id)
    REFERENCES disputes(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT dispute_evidence_file_complete CHECK (num_nulls(file, file_type, file_name) IN (0, 3)),
  CONSTRAINT dispute_evidence_file_named CHECK (char_length(file_name) BETWEEN 1 AND 100),
  CONSTRAINT dispute_evidence_file_small CHECK (octet_length(file) BETWEEN 1 AND 5242880),
  CONSTRAINT dispute_evidence_file_type_known CHECK (file_type IN ('application/pdf', 'image/png', 'image/jpeg')),
  CONSTRAINT dispute_evidence_not_empty CHECK (num_nulls(text, file) < 2),
  CONSTRAINT dispute_evidence_text_short CHECK (char_length(text) BETWEEN 1 AND 2000)
);
CREATE INDEX dispute_evidence_account_id_dispute_id_id_idx ON dispute_evidence (account_id, dispute_id, id);

-- Money of received payments that the bank gave back by itself, in the books of whose money it was then. Growth: one per
-- return, never deleted.
CREATE TABLE payment_returns (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  end_to_end_id text NOT NULL,
  return_id text NOT NULL,
  order_id text,
  charge_id uuid,
  -- Of a payment that was unmatched, or is.
  payment_id uuid,
  amount bigint NOT NULL,
  -- What a lost dispute of the charge, or an entry of people about the unmatched payment, had taken of it before.
  disputed_amount bigint NOT NULL DEFAULT 0,
  nature text,
  returned_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT payment_returns_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT payment_returns_account_id_charge_id_fkey FOREIGN KEY (account_id, charge_id)
    REFERENCES charges(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT payment_returns_amount_positive CHECK (amount > 0 AND disputed_amount BETWEEN 0 AND amount),
  CONSTRAINT payment_returns_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE RESTRICT,
  CONSTRAINT payment_returns_mode_known CHECK (mode IN ('test', 'live'))
);
CREATE INDEX payment_returns_account_id_charge_id_idx ON payment_returns (account_id, charge_id);
CREATE INDEX payment_returns_end_to_end_id_idx ON payment_returns (end_to_end_id);
CREATE INDEX payment_returns_day_idx ON payment_returns (connection_id, created_at);
CREATE UNIQUE INDEX payment_returns_connection_id_end_to_end_id_return_id_key
  ON payment_returns (connection_id, end_to_end_id, return_id);
CREATE TRIGGER payment_returns_append_only
  BEFORE DELETE OR UPDATE OR TRUNCATE ON payment_returns FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- How far the list of received payments of a connection has been read. Growth: one per connection.
CREATE TABLE payment_readings (
  connection_id uuid NOT NULL,
  pace text NOT NULL,
  read_until timestamptz(6) NOT NULL,
  since timestamptz(6),
  until timestamptz(6),
  position text,
  due_at timestamptz(6) NOT NULL,
  lease uuid,
  paused_until timestamptz(6),
  is_wanted boolean NOT NULL DEFAULT false,
  CONSTRAINT payment_readings_pkey PRIMARY KEY (connection_id, pace),
  CONSTRAINT payment_readings_pace_known CHECK (pace IN ('recent', 'late', 'daily', 'returned', 'returned_all')),
  CONSTRAINT payment_readings_period CHECK (since IS NULL = (until IS NULL) AND (position IS NULL OR since IS NOT NULL))
);

-- Keys that sign receipts of payments. Growth: one per rotation.
CREATE TABLE receipt_keys (
  id text NOT NULL,
  public_key text NOT NULL,
  number integer NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  withdrawn_at timestamptz(6),
  CONSTRAINT receipt_keys_pkey PRIMARY KEY (id),
  CONSTRAINT receipt_keys_id_form CHECK (id ~ '^[A-Za-z0-9_-]{16}$'),
  CONSTRAINT receipt_keys_number CHECK (number > 0),
  CONSTRAINT receipt_keys_public_key_form CHECK (public_key ~ '^[A-Za-z0-9_-]{43}$')
);

-- ======== Withdrawals ========

-- Withdrawals. Growth: one per withdrawal, never deleted.
CREATE TABLE withdrawals (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  pix_key_type text NOT NULL,
  pix_key text NOT NULL,
  dict_key text NOT NULL,
  external_id text,
  webhook_url text,
  rejection_reason text,
  end_to_end_id text,
  approved_at timestamptz(6),
  rejected_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  rejection_code text,
  rejection_params json,
  webhook_host text,
  requested_by uuid,
  approval_reason text,
  approval_due_at timestamptz(6),
  approval_barred uuid[],
  approval_mailed_at timestamptz(6),
  approval_by uuid,
  approval_at timestamptz(6),
  connection_id uuid NOT NULL DEFAULT '00000000-0000-7000-8000-000000000001',
  bank_text text,
  payee_name text,
  payee_doc text,
  payee_bank text,
  other_end_to_end_id text,
  returned_amount bigint NOT NULL DEFAULT 0,
  owner_doc text,
  memo text,
  trace text,
  CONSTRAINT withdrawals_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT withdrawals_account_id_fkey FOREIGN KEY (account_id)
    REFERENCES accounts(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT withdrawals_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE RESTRICT,
  CONSTRAINT withdrawals_amount_range CHECK (amount BETWEEN CASE account_id
    WHEN '00000000-0000-7000-8000-000000000003' THEN 1 ELSE 1000 END AND '999999999999'),
  CONSTRAINT withdrawals_approval_reason_known CHECK (approval_reason IN ('amount', 'day_amount', 'new_key')),
  CONSTRAINT withdrawals_approved_has_time CHECK ((status = 'approved') = (approved_at IS NOT NULL)),
  CONSTRAINT withdrawals_memo_length CHECK (length(memo) BETWEEN 1 AND 140),
  CONSTRAINT withdrawals_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT withdrawals_owner_doc_length CHECK (length(owner_doc) BETWEEN 11 AND 30),
  CONSTRAINT withdrawals_pix_key_type_known CHECK (pix_key_type IN ('cpf', 'cnpj', 'email', 'phone', 'random')),
  CONSTRAINT withdrawals_rejected_has_reason CHECK ((status = 'rejected') = (rejection_reason IS NOT NULL)),
  CONSTRAINT withdrawals_rejected_has_time CHECK ((status = 'rejected') = (rejected_at IS NOT NULL)),
  CONSTRAINT withdrawals_rejection_code_complete CHECK (rejection_code IS NULL = (rejection_params IS NULL)
    AND (rejection_code IS NULL OR rejection_reason IS NOT NULL)),
  CONSTRAINT withdrawals_rejection_code_known CHECK (rejection_code IN ('key_refused', 'owner_differs',
    'account_unknown', 'account_blocked', 'account_closed', 'not_supported', 'above_limit', 'amount_refused',
      'receiver_refused', 'not_in_pix', 'regulation', 'denied', 'try_later', 'simulated', 'unspecified', 'other',
        'approval_declined', 'approval_expired', 'ended_unsent')),
  CONSTRAINT withdrawals_returned_within_sent CHECK (returned_amount BETWEEN 0 AND CASE status
    WHEN 'approved' THEN amount ELSE 0 END),
  -- The operator tries connections for homologation with its trial account, in test mode.
  CONSTRAINT withdrawals_simulator_in_test CHECK ((mode = 'test') = (connection_id = '00000000-0000-7000-8000-000000000001')
    OR mode = 'test' AND account_id = '00000000-0000-7000-8000-000000000003'),
  CONSTRAINT withdrawals_status_known CHECK (status IN ('pending', 'approved', 'rejected')),
  CONSTRAINT withdrawals_waiting_is_pending CHECK (approval_due_at IS NULL
    OR status = 'pending' AND approval_at IS NULL AND approval_reason IS NOT NULL AND approval_barred IS NOT NULL),
  CONSTRAINT withdrawals_webhook_has_host CHECK (num_nulls(webhook_url, webhook_host) IN (0, 2))
);
CREATE UNIQUE INDEX withdrawals_account_id_mode_external_id_key ON withdrawals (account_id, mode, external_id);
CREATE INDEX withdrawals_account_id_mode_id_idx ON withdrawals (account_id, mode, id);
CREATE INDEX withdrawals_approval_due_idx ON withdrawals (approval_due_at) WHERE approval_due_at IS NOT NULL;
CREATE INDEX withdrawals_approval_idx ON withdrawals (account_id, mode, id) WHERE approval_due_at IS NOT NULL;
CREATE INDEX withdrawals_connection_day_idx ON withdrawals (connection_id, created_at) INCLUDE (amount)
  WHERE mode = 'live' AND status <> 'rejected';
CREATE UNIQUE INDEX withdrawals_end_to_end_id_key ON withdrawals (end_to_end_id)
  WHERE end_to_end_id IS NOT NULL;
CREATE INDEX withdrawals_paid_key_idx ON withdrawals (account_id, mode, dict_key) WHERE status = 'approved';
CREATE INDEX withdrawals_pending_idx ON withdrawals (account_id, mode) INCLUDE (amount) WHERE status = 'pending';
CREATE TRIGGER withdrawals_guard_state
  BEFORE UPDATE ON withdrawals FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('pending>approved', 'pending>rejected');

-- What leaves through a bank, under the id of the withdrawal, refund or return that it sends. Growth: one per withdrawal,
-- refund and return; never deleted.
CREATE TABLE bank_orders (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  operation text NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  amount bigint NOT NULL,
  -- The Pix key of a payout, the end-to-end id of the payment of a refund.
  target text NOT NULL,
  owner_doc text,
  state text NOT NULL,
  due_at timestamptz(6),
  lease uuid,
  attempts integer NOT NULL DEFAULT 0,
  slot_until timestamptz(6),
  sent_at timestamptz(6),
  -- The end-to-end id of the payout, the return id of the refund.
  bank_id text,
  trace text,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  end_id uuid,
  end_outcome text,
  end_reason text,
  end_proposed_by uuid,
  end_proposed_at timestamptz(6),
  end_confirmed_by uuid,
  ended_at timestamptz(6),
  end_ask_at timestamptz(6),
  contradiction text,
  contradicted_at timestamptz(6),
  CONSTRAINT bank_orders_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT bank_orders_contradiction_complete CHECK (contradiction IS NULL = (contradicted_at IS NULL)),
  CONSTRAINT bank_orders_contradiction_known CHECK (contradiction IS NULL OR contradiction IN ('done', 'refused')
    AND ended_at IS NOT NULL),
  CONSTRAINT bank_orders_due CHECK ((state IN ('waiting', 'placed')) = (due_at IS NOT NULL)
    AND (lease IS NULL OR due_at IS NOT NULL)),
  CONSTRAINT bank_orders_end_complete CHECK (num_nulls(end_id, end_outcome, end_reason, end_proposed_at) IN (0, 4)),
  CONSTRAINT bank_orders_end_outcome_known CHECK (end_outcome IN ('sent', 'not_sent')),
  CONSTRAINT bank_orders_ended_as_proposed CHECK (ended_at IS NULL
    OR end_id IS NOT NULL AND mode = 'live' AND state = CASE end_outcome WHEN 'sent' THEN 'done' ELSE 'refused' END),
  CONSTRAINT bank_orders_ended_by_two CHECK (ended_at IS NULL
    OR (num_nulls(end_proposed_by, end_confirmed_by) = 2 OR COALESCE(end_proposed_by <> end_confirmed_by, false))),
  CONSTRAINT bank_orders_kind_known CHECK (kind IN ('withdrawal', 'refund', 'return')
    AND operation IN ('payout', 'refund')),
  CONSTRAINT bank_orders_placed_has_place CHECK ((state = 'placed') <= (slot_until IS NOT NULL)),
  CONSTRAINT bank_orders_state_known CHECK (state IN ('held', 'waiting', 'placed', 'done', 'refused'))
) WITH (fillfactor = 85);
CREATE INDEX bank_orders_contradicted_idx ON bank_orders (contradicted_at) WHERE contradicted_at IS NOT NULL;
CREATE INDEX bank_orders_due_idx ON bank_orders (kind, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX bank_orders_end_ask_idx ON bank_orders (end_ask_at) WHERE end_ask_at IS NOT NULL;
CREATE INDEX bank_orders_lease_idx ON bank_orders (lease) WHERE lease IS NOT NULL;
-- Without it, each claim would read all orders that a bank has not ended for days, and each payout all that are done.
CREATE INDEX bank_orders_slots_idx ON bank_orders (connection_id, operation, slot_until)
  WHERE state IN ('placed', 'done');
CREATE INDEX bank_orders_placed_idx ON bank_orders (connection_id, operation, account_id, due_at, id)
  WHERE state = 'placed';
CREATE INDEX bank_orders_waiting_idx ON bank_orders (connection_id, operation, account_id, id) WHERE state = 'waiting';
CREATE TRIGGER bank_orders_end_final
  BEFORE UPDATE ON bank_orders FOR EACH ROW
  WHEN (old.state IN ('done', 'refused') AND new.state <> old.state)
  EXECUTE FUNCTION troco_refuse_change();
CREATE TRIGGER bank_orders_terms_fixed
  BEFORE UPDATE OF account_id, id, kind, operation, mode, connection_id, amount, target, owner_doc ON bank_orders
  FOR EACH ROW EXECUTE FUNCTION troco_refuse_change();

-- Turns of accounts, and pauses that the bank asked for. Growth: two per connection.
CREATE TABLE order_queues (
  connection_id uuid NOT NULL,
  operation text NOT NULL,
  last_served uuid,
  paused_until timestamptz(6),
  CONSTRAINT order_queues_pkey PRIMARY KEY (connection_id, operation),
  CONSTRAINT order_queues_operation_known CHECK (operation IN ('payout', 'refund'))
);

-- Payouts that the bank returned after they were sent. Growth: one per return, never deleted.
CREATE TABLE payout_returns (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  withdrawal_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  return_id text NOT NULL,
  amount bigint NOT NULL,
  returned_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT payout_returns_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT payout_returns_account_id_withdrawal_id_fkey FOREIGN KEY (account_id, withdrawal_id)
    REFERENCES withdrawals(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT payout_returns_amount_positive CHECK (amount > 0)
);
CREATE INDEX payout_returns_account_id_withdrawal_id_idx ON payout_returns (account_id, withdrawal_id);
CREATE UNIQUE INDEX payout_returns_connection_id_return_id_key ON payout_returns (connection_id, return_id);
CREATE TRIGGER payout_returns_append_only
  BEFORE DELETE OR UPDATE OR TRUNCATE ON payout_returns FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- ======== Operator: what fits nothing, and days ========

-- Money at the bank that fits no charge. Growth: one per such payment, never deleted.
CREATE TABLE unmatched_payments (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  end_to_end_id text NOT NULL,
  txid text,
  amount bigint NOT NULL,
  paid_at timestamptz(6) NOT NULL,
  reason text NOT NULL,
  charge_account_id uuid,
  charge_id uuid,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT unmatched_payments_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT unmatched_payments_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE RESTRICT,
  CONSTRAINT unmatched_payments_amount_positive CHECK (amount > 0),
  CONSTRAINT unmatched_payments_charge_complete CHECK (charge_account_id IS NULL = (charge_id IS NULL)),
  CONSTRAINT unmatched_payments_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT unmatched_payments_of_operator CHECK (account_id = '00000000-0000-7000-8000-000000000002'),
  CONSTRAINT unmatched_payments_reason_known CHECK (reason IN ('payment_amount', 'payment_repeated', 'payment_unmatched',
    'return_above_payout', 'return_unmatched'))
);
CREATE UNIQUE INDEX unmatched_payments_connection_id_end_to_end_id_key ON unmatched_payments (connection_id, end_to_end_id);
CREATE INDEX unmatched_payments_charge_idx ON unmatched_payments (charge_account_id, charge_id) WHERE charge_id IS NOT NULL;
CREATE TRIGGER unmatched_payments_append_only
  BEFORE DELETE OR UPDATE OR TRUNCATE ON unmatched_payments FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- What was decided about it. Growth: one per unmatched payment.
CREATE TABLE unmatched_resolutions (
  account_id uuid NOT NULL,
  payment_id uuid NOT NULL,
  entry text NOT NULL,
  to_account_id uuid,
  charge_id uuid,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT unmatched_resolutions_pkey PRIMARY KEY (account_id, payment_id),
  CONSTRAINT unmatched_resolutions_account_id_payment_id_fkey FOREIGN KEY (account_id, payment_id)
    REFERENCES unmatched_payments(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT unmatched_resolutions_entry_known CHECK (entry IN ('give_back', 'credit', 'match', 'keep')),
  CONSTRAINT unmatched_resolutions_target_complete CHECK (entry IN ('credit', 'match') = (to_account_id IS NOT NULL)
    AND (entry = 'match') = (charge_id IS NOT NULL))
);
CREATE INDEX unmatched_resolutions_to_account_id_idx ON unmatched_resolutions (to_account_id, payment_id)
  WHERE to_account_id IS NOT NULL;
CREATE TRIGGER unmatched_resolutions_append_only
  BEFORE DELETE OR UPDATE OR TRUNCATE ON unmatched_resolutions FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- Returns of it to its payer. Growth: one per return.
CREATE TABLE unmatched_returns (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  payment_id uuid NOT NULL,
  item_id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  status text NOT NULL,
  amount bigint NOT NULL,
  requested_by uuid,
  reason text NOT NULL,
  return_id text,
  rejection_reason text,
  rejection_code text,
  rejection_params json,
  bank_text text,
  completed_at timestamptz(6),
  rejected_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT unmatched_returns_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT unmatched_returns_account_id_payment_id_fkey FOREIGN KEY (account_id, payment_id)
    REFERENCES unmatched_payments(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT unmatched_returns_connection_id_fkey FOREIGN KEY (connection_id)
    REFERENCES connections(id) ON DELETE RESTRICT,
  CONSTRAINT unmatched_returns_amount_positive CHECK (amount > 0),
  CONSTRAINT unmatched_returns_completed_complete CHECK ((status = 'completed') = (completed_at IS NOT NULL)
    AND (return_id IS NULL OR status = 'completed')),
  CONSTRAINT unmatched_returns_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT unmatched_returns_rejected_complete CHECK ((status = 'rejected') = (rejected_at IS NOT NULL)
    AND (status = 'rejected') = (rejection_code IS NOT NULL)),
  CONSTRAINT unmatched_returns_status_known CHECK (status IN ('pending', 'completed', 'rejected'))
);
CREATE INDEX unmatched_returns_item_id_created_at_idx ON unmatched_returns (item_id, created_at);
CREATE UNIQUE INDEX unmatched_returns_payment_id_key ON unmatched_returns (account_id, payment_id)
  WHERE status <> 'rejected';
CREATE TRIGGER unmatched_returns_guard_state
  BEFORE UPDATE ON unmatched_returns FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('pending>completed', 'pending>rejected');

-- What people have to look at. Growth: one per finding.
CREATE TABLE differences (
  id uuid NOT NULL,
  connection_id uuid NOT NULL,
  kind text NOT NULL,
  key text NOT NULL,
  facts json NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  resolved_at timestamptz(6),
  day date,
  resolution text,
  resolved_by uuid,
  reason text,
  CONSTRAINT differences_pkey PRIMARY KEY (id),
  CONSTRAINT differences_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE RESTRICT,
  CONSTRAINT differences_kind_known CHECK (kind IN ('payment_amount', 'payment_repeated', 'payment_unmatched',
    'payment_unreadable', 'return_above_payment', 'return_above_payout', 'return_unmatched', 'refund_unknown', 'dispute_unmatched',
      'dispute_contradicted', 'removal_unconfirmed', 'order_contradicted', 'day_missing_here',
        'day_missing_there', 'day_different', 'day_balance', 'payout_unbooked', 'refund_unbooked')),
  CONSTRAINT differences_resolution_of_resolved CHECK (resolution IS NULL OR resolved_at IS NOT NULL),
  CONSTRAINT differences_resolved_complete CHECK (resolved_by IS NULL
    OR num_nulls(resolved_at, resolution, reason) = 0)
);
CREATE UNIQUE INDEX differences_connection_id_kind_key_key ON differences (connection_id, kind, key);
CREATE INDEX differences_day_idx ON differences (connection_id, day) WHERE day IS NOT NULL;
CREATE INDEX differences_open_idx ON differences (created_at, id) WHERE resolved_at IS NULL;

-- Entries of two admins that settle a difference. Growth: one per proposal, never deleted.
CREATE TABLE corrections (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  item_id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  -- Who pays and who gets it; null: the bank.
  from_account_id uuid,
  to_account_id uuid,
  amount bigint NOT NULL,
  reason text NOT NULL,
  attachment bytea NOT NULL,
  attachment_type text NOT NULL,
  -- Null people are the command line.
  proposed_by uuid,
  proposed_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  replaced_at timestamptz(6),
  approved_by uuid,
  booked_at timestamptz(6),
  CONSTRAINT corrections_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT corrections_item_id_fkey FOREIGN KEY (item_id) REFERENCES differences(id) ON DELETE RESTRICT,
  CONSTRAINT corrections_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE RESTRICT,
  CONSTRAINT corrections_amount_positive CHECK (amount > 0),
  CONSTRAINT corrections_attachment_small CHECK (octet_length(attachment) BETWEEN 1 AND 5242880),
  CONSTRAINT corrections_attachment_type_known CHECK (attachment_type IN ('application/pdf', 'image/png', 'image/jpeg')),
  CONSTRAINT corrections_booked_by_two CHECK (booked_at IS NULL
    OR (num_nulls(proposed_by, approved_by) = 2 OR COALESCE(proposed_by <> approved_by, false))),
  CONSTRAINT corrections_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT corrections_of_operator CHECK (account_id = '00000000-0000-7000-8000-000000000002'),
  CONSTRAINT corrections_parties_differ CHECK (from_account_id IS DISTINCT FROM to_account_id)
);
CREATE INDEX corrections_item_id_id_idx ON corrections (item_id, id);
CREATE UNIQUE INDEX corrections_open_item_id_key ON corrections (item_id)
  WHERE booked_at IS NULL AND replaced_at IS NULL;
CREATE TRIGGER corrections_booked_final
  BEFORE UPDATE ON corrections FOR EACH ROW WHEN (old.booked_at IS NOT NULL)
  EXECUTE FUNCTION troco_refuse_change();
CREATE TRIGGER corrections_terms_fixed
  BEFORE UPDATE OF account_id, id, item_id, mode, connection_id, from_account_id, to_account_id, amount, reason,
    attachment, attachment_type, proposed_by, proposed_at ON corrections
  FOR EACH ROW EXECUTE FUNCTION troco_refuse_change();

-- Fees of the bank. Growth: one per fee, never deleted.
CREATE TABLE bank_fees (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  connection_id uuid NOT NULL,
  bank_id text NOT NULL,
  amount bigint NOT NULL,
  charged_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  is_return boolean NOT NULL DEFAULT false,
  CONSTRAINT bank_fees_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT bank_fees_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE RESTRICT,
  CONSTRAINT bank_fees_amount_positive CHECK (amount > 0),
  CONSTRAINT bank_fees_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT bank_fees_of_operator CHECK (account_id = '00000000-0000-7000-8000-000000000002')
);
CREATE UNIQUE INDEX bank_fees_connection_id_bank_id_key ON bank_fees (connection_id, bank_id);
CREATE INDEX bank_fees_connection_id_charged_at_idx ON bank_fees (connection_id, charged_at);
CREATE TRIGGER bank_fees_append_only
  BEFORE DELETE OR UPDATE OR TRUNCATE ON bank_fees FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- Trials of connections: which charge of the operator's trial account is one, and where its cent goes. Growth: one per trial.
CREATE TABLE connection_trials (
  charge_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  pix_key text,
  noticed_at timestamptz(6),
  refund_refusal text,
  withdrawal_refusal text,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT connection_trials_pkey PRIMARY KEY (charge_id),
  CONSTRAINT connection_trials_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE RESTRICT
);
CREATE INDEX connection_trials_connection_id_created_at_idx ON connection_trials (connection_id, created_at);

-- Days whose statement was compared with the books. Growth: one per connection and day.
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
  CONSTRAINT reconciled_days_read CHECK (source IS NULL = (read_at IS NULL)),
  CONSTRAINT reconciled_days_source_known CHECK (source IN ('lists', 'statement'))
);
CREATE INDEX reconciled_days_due_idx ON reconciled_days (due_at) WHERE due_at IS NOT NULL;

-- ======== Calls of banks and restores ========

-- Notices of banks that wait to be asked about. Growth: deleted when answered.
CREATE TABLE bank_notices (
  connection_id uuid NOT NULL,
  kind text NOT NULL,
  id text NOT NULL,
  due_at timestamptz(6) NOT NULL,
  asked_at timestamptz(6),
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT bank_notices_pkey PRIMARY KEY (connection_id, kind, id),
  CONSTRAINT bank_notices_attempts CHECK (attempts >= 0),
  CONSTRAINT bank_notices_id_form CHECK (id ~ '^[A-Za-z0-9]{1,64}$'),
  CONSTRAINT bank_notices_kind_known CHECK (kind IN ('charge', 'payout', 'return', 'refund', 'payment', 'payment_return'))
);
CREATE INDEX bank_notices_due_idx ON bank_notices (due_at);

-- Journal of calls to banks. Growth: pruned after 90 days, unless their order is open.
CREATE TABLE gateway_calls (
  account_id uuid,
  id uuid NOT NULL,
  mode text,
  gateway text NOT NULL,
  operation text NOT NULL,
  subject_id uuid,
  request json NOT NULL,
  outcome text,
  response json,
  finished_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  connection_id uuid,
  CONSTRAINT gateway_calls_pkey PRIMARY KEY (id)
);
CREATE INDEX gateway_calls_account_id_subject_id_idx ON gateway_calls (account_id, subject_id);
CREATE INDEX gateway_calls_created_at_idx ON gateway_calls (created_at);
ALTER TABLE gateway_calls
    ADD CONSTRAINT gateway_calls_subject_complete CHECK ((num_nulls(account_id, mode, subject_id) = ANY (ARRAY[0,
      3]))) NOT VALID;

-- The simulated bank. Growth: one per charge, payout and refund in test mode.
CREATE TABLE simulator_orders (
  id text NOT NULL,
  kind text NOT NULL,
  amount bigint NOT NULL,
  state text NOT NULL,
  reason text,
  end_to_end_id text,
  settles_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  reason_code text,
  CONSTRAINT simulator_orders_pkey PRIMARY KEY (id),
  CONSTRAINT simulator_orders_amount_positive CHECK (amount > 0),
  CONSTRAINT simulator_orders_kind_known CHECK (kind IN ('charge', 'payout', 'refund')),
  CONSTRAINT simulator_orders_reason_code_known CHECK (reason_code IN ('key_refused', 'owner_differs', 'simulated',
    'unspecified'))
);

-- What an account does to its test mode for an hour: time that it let pass, in seconds, and the failure that its next
-- webhooks meet, with their number. Growth: one per call, pruned when over.
CREATE TABLE sandbox_controls (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  amount bigint NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  ends_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP + interval '1 hour',
  CONSTRAINT sandbox_controls_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT sandbox_controls_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE RESTRICT,
  CONSTRAINT sandbox_controls_amount_not_negative CHECK (amount >= 0),
  CONSTRAINT sandbox_controls_end_within_hour CHECK (ends_at <= created_at + interval '1 hour'),
  CONSTRAINT sandbox_controls_kind_known CHECK (kind IN ('clock', 'unavailable', 'timeout', 'duplicate'))
);

-- Restores of this database from a backup. Growth: one per restore.
CREATE TABLE restores (
  id uuid NOT NULL,
  restored_to timestamptz(6) NOT NULL,
  begun_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT restores_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX restores_restored_to_key ON restores (restored_to);

-- What a connection may not send until a restore is settled. Growth: one per restore and connection.
CREATE TABLE restore_closures (
  connection_id uuid NOT NULL,
  restore_id uuid NOT NULL,
  since timestamptz(6) NOT NULL,
  list text DEFAULT 'payments',
  until timestamptz(6),
  position text,
  payments_until timestamptz(6),
  refunds_until timestamptz(6),
  payouts_until timestamptz(6),
  unsettled integer NOT NULL DEFAULT 0,
  flaw text,
  due_at timestamptz(6),
  lease uuid,
  opened_at timestamptz(6),
  opened_by text,
  proposal_id uuid,
  proposed_by uuid,
  proposed_at timestamptz(6),
  reason text,
  confirmed_by uuid,
  CONSTRAINT restore_closures_pkey PRIMARY KEY (connection_id, restore_id),
  CONSTRAINT restore_closures_restore_id_fkey FOREIGN KEY (restore_id) REFERENCES restores(id),
  CONSTRAINT restore_closures_list_known CHECK (list IN ('payments', 'refunds', 'payouts')),
  CONSTRAINT restore_closures_opened CHECK (opened_at IS NULL = (opened_by IS NULL)),
  CONSTRAINT restore_closures_opened_by_known CHECK (opened_by IN ('readings', 'admins', 'command_line')),
  CONSTRAINT restore_closures_two_admins CHECK (opened_by IS DISTINCT FROM 'admins'
    OR proposed_by IS NOT NULL AND confirmed_by IS NOT NULL AND proposed_by <> confirmed_by)
);
CREATE INDEX restore_closures_closed_idx ON restore_closures (connection_id) WHERE opened_at IS NULL;

-- ======== Webhooks and events ========

-- The last number of the events of an account and mode. Growth: one per account and mode.
CREATE TABLE event_sequences (
  account_id uuid NOT NULL,
  mode text NOT NULL,
  last bigint NOT NULL DEFAULT 0,
  first_delivered_at timestamptz(6),
  epoch text,
  CONSTRAINT event_sequences_pkey PRIMARY KEY (account_id, mode),
  CONSTRAINT event_sequences_account_id_fkey FOREIGN KEY (account_id)
    REFERENCES accounts(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT event_sequences_epoch_form CHECK (epoch IS NULL OR epoch ~ '^[0-9a-f]{16}$'),
  CONSTRAINT event_sequences_mode_known CHECK (mode IN ('test', 'live'))
) WITH (fillfactor='50');

-- Events, numbered without gaps. Growth: pruned after 90 days.
CREATE TABLE events (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  sequence bigint NOT NULL,
  type text NOT NULL,
  subject_id uuid NOT NULL,
  resource json NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  trace text,
  CONSTRAINT events_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT events_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT events_type_known CHECK (type IN ('transaction.paid', 'transaction.expired', 'transaction.failed',
    'transaction.refunded', 'transaction.refund_failed', 'transaction.dispute_opened',
      'transaction.dispute_closed', 'transaction.returned', 'transaction.amount_mismatch', 'withdrawal.approved',
        'withdrawal.rejected', 'withdrawal.returned'))
);
CREATE INDEX events_account_id_mode_created_at_idx ON events (account_id, mode, created_at);
CREATE UNIQUE INDEX events_account_id_mode_sequence_key ON events (account_id, mode, sequence);
CREATE INDEX events_account_id_mode_type_sequence_idx ON events (account_id, mode, type, sequence);
CREATE INDEX events_account_id_subject_id_idx ON events (account_id, subject_id);
CREATE INDEX events_trace_request_idx ON events (substr(trace, 54)) WHERE trace IS NOT NULL;

-- Epochs of the feed, ended by restores. Growth: one per account, mode and restore.
CREATE TABLE feed_epochs (
  account_id uuid NOT NULL,
  mode text NOT NULL,
  epoch text NOT NULL,
  kept bigint NOT NULL,
  next bigint NOT NULL,
  ended_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT feed_epochs_pkey PRIMARY KEY (account_id, mode, next),
  CONSTRAINT feed_epochs_epoch_form CHECK (epoch ~ '^[0-9a-f]{16}$'),
  CONSTRAINT feed_epochs_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT feed_epochs_next_block CHECK (kept >= 0 AND next > kept AND next % '4294967296' = 0
    AND next <= '9007199254740991')
);

-- Endpoints of an account. Growth: limited per account.
CREATE TABLE webhook_endpoints (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  url text NOT NULL,
  event_types text[],
  disabled_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  failing_since timestamptz(6),
  exhausted integer NOT NULL DEFAULT 0,
  deleted_at timestamptz(6),
  disabled_code text,
  host text NOT NULL,
  full_documents boolean NOT NULL DEFAULT false,
  -- Whether the receiver gets payments as API Pix has them.
  is_api_pix boolean NOT NULL DEFAULT false,
  CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT webhook_endpoints_account_id_fkey FOREIGN KEY (account_id)
    REFERENCES accounts(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT webhook_endpoints_disabled_code_known CHECK (disabled_code IN ('by_member', 'by_token', 'gone',
    'given_up')),
  CONSTRAINT webhook_endpoints_mode_known CHECK (mode IN ('test', 'live'))
);
CREATE UNIQUE INDEX webhook_endpoints_api_pix_key ON webhook_endpoints (account_id, mode)
  WHERE is_api_pix AND deleted_at IS NULL;

-- Secrets that sign webhooks of resources. Growth: limited per account and mode.
CREATE TABLE webhook_secrets (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  endpoint_id uuid,
  sealed bytea NOT NULL,
  key_id text NOT NULL,
  retires_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT webhook_secrets_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT webhook_secrets_account_id_endpoint_id_fkey FOREIGN KEY (account_id, endpoint_id)
    REFERENCES webhook_endpoints(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT webhook_secrets_account_id_fkey FOREIGN KEY (account_id)
    REFERENCES accounts(id) ON UPDATE CASCADE ON DELETE RESTRICT,
  CONSTRAINT webhook_secrets_mode_known CHECK (mode IN ('test', 'live'))
);
CREATE UNIQUE INDEX webhook_secrets_in_force ON webhook_secrets (account_id, mode, COALESCE(endpoint_id,
  '00000000-0000-0000-0000-000000000000'::uuid))
  WHERE retires_at IS NULL;

-- An event for one receiver. Growth: pruned with its event.
CREATE TABLE deliveries (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  event_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  sequence bigint NOT NULL,
  endpoint_id uuid,
  url text NOT NULL,
  status text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz(6),
  delivered_at timestamptz(6),
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  updated_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  host text NOT NULL,
  attempts_before integer NOT NULL DEFAULT 0,
  CONSTRAINT deliveries_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT deliveries_account_id_endpoint_id_fkey FOREIGN KEY (account_id, endpoint_id)
    REFERENCES webhook_endpoints(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT deliveries_account_id_event_id_fkey FOREIGN KEY (account_id, event_id)
    REFERENCES events(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT deliveries_delivered_has_time CHECK ((status = 'delivered') = (delivered_at IS NOT NULL)),
  CONSTRAINT deliveries_due_while_pending CHECK (due_at IS NULL OR status = 'pending'),
  CONSTRAINT deliveries_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT deliveries_status_known CHECK (status IN ('pending', 'delivered', 'exhausted', 'stopped'))
);
CREATE INDEX deliveries_account_id_event_id_idx ON deliveries (account_id, event_id);
CREATE INDEX deliveries_account_id_mode_sequence_idx ON deliveries (account_id, mode, sequence);
CREATE INDEX deliveries_account_id_subject_id_idx ON deliveries (account_id, subject_id);
CREATE INDEX deliveries_due_idx ON deliveries (account_id, due_at, sequence) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_endpoint_idx ON deliveries (account_id, endpoint_id, sequence)
  WHERE endpoint_id IS NOT NULL;
CREATE INDEX deliveries_paused_idx ON deliveries (account_id, endpoint_id, sequence)
  WHERE status = 'pending' AND due_at IS NULL;
CREATE INDEX deliveries_resource_idx ON deliveries (account_id, mode, sequence) WHERE endpoint_id IS NULL;
CREATE INDEX deliveries_state_idx ON deliveries (account_id, mode, (
CASE
    WHEN ((status = 'pending'::text) AND (due_at IS NULL)) THEN 'paused'::text
    ELSE status
END), sequence)
  WHERE status <> 'delivered';
CREATE INDEX deliveries_url_idx ON deliveries (account_id, host, hashtextextended(url, (0)::bigint), due_at)
  WHERE due_at IS NOT NULL;
CREATE TRIGGER deliveries_touch_queues_on_insert
  AFTER INSERT ON deliveries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT
  EXECUTE FUNCTION troco_touch_queues();
CREATE TRIGGER deliveries_touch_queues_on_update
  AFTER UPDATE ON deliveries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT
  EXECUTE FUNCTION troco_touch_queues();

-- Attempts of a delivery. Growth: bodies pruned after 60 days, rows with their event.
CREATE TABLE delivery_attempts (
  account_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  number integer NOT NULL,
  request_headers json NOT NULL,
  request_body text,
  address text,
  response_status integer,
  response_headers json,
  response_body text,
  problem text,
  duration_ms integer NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  problem_code text,
  problem_params json,
  CONSTRAINT delivery_attempts_pkey PRIMARY KEY (account_id, delivery_id, number),
  CONSTRAINT delivery_attempts_account_id_delivery_id_fkey FOREIGN KEY (account_id, delivery_id)
    REFERENCES deliveries(account_id, id) ON DELETE RESTRICT,
  CONSTRAINT delivery_attempts_problem_code_complete CHECK (problem_code IS NULL = (problem_params IS NULL)
    AND (problem_code IS NULL OR problem IS NOT NULL)),
  CONSTRAINT delivery_attempts_problem_code_known CHECK (problem_code IN ('status', 'redirect', 'refused',
    'closed', 'unreachable', 'connect_timeout', 'timeout', 'header_too_large', 'not_http', 'no_answer',
      'other_protocol', 'certificate_name', 'certificate_expired', 'certificate_untrusted', 'tls', 'interrupted',
        'not_called', 'not_a_url', 'not_web', 'https_required', 'credentials', 'port_low', 'port_internal',
          'leads_back', 'name_unknown', 'name_denied', 'address_denied', 'other'))
);
CREATE INDEX delivery_attempts_bodies_idx ON delivery_attempts (created_at)
  WHERE request_body IS NOT NULL OR response_body IS NOT NULL;

-- Accounts with pending deliveries. Growth: at most one per account; deleted when nothing is pending.
CREATE TABLE delivery_queues (
  account_id uuid NOT NULL,
  due_at timestamptz(6) NOT NULL,
  lease uuid,
  has_news boolean NOT NULL DEFAULT false,
  CONSTRAINT delivery_queues_pkey PRIMARY KEY (account_id)
) WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
CREATE INDEX delivery_queues_due_at_idx ON delivery_queues (due_at);
CREATE INDEX delivery_queues_lease_idx ON delivery_queues (lease) WHERE lease IS NOT NULL;

-- ======== Requests ========

-- Answers of requests with an Idempotency-Key. Growth: deleted when expired.
CREATE TABLE idempotency_keys (
  account_id uuid NOT NULL,
  mode text NOT NULL,
  path text NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  resource_id uuid NOT NULL,
  status integer,
  answer text,
  locked_until timestamptz(6),
  expires_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  locked_by integer,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (account_id, mode, path, key),
  CONSTRAINT idempotency_keys_answer_complete CHECK (answer IS NULL OR status IS NOT NULL AND locked_until IS NULL),
  CONSTRAINT idempotency_keys_key_length CHECK (char_length(key) BETWEEN 1 AND 255),
  CONSTRAINT idempotency_keys_mode_known CHECK (mode IN ('test', 'live'))
);
CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);

-- Requests of the API, partitioned by day. Growth: partitions dropped by age.
CREATE TABLE request_log (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  token_id uuid NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  resource_id uuid,
  status integer NOT NULL,
  code text,
  duration_us integer NOT NULL,
  request_id text NOT NULL,
  request_body json,
  request_bytes integer,
  response_body json,
  response_bytes integer NOT NULL,
  created_at timestamptz(6) NOT NULL,
  CONSTRAINT request_log_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT request_log_bodies_short CHECK (octet_length(request_body::text) <= 4096
    AND octet_length(response_body::text) <= 4096),
  CONSTRAINT request_log_mode_known CHECK (mode IN ('test', 'live'))
) PARTITION BY RANGE (id);
CREATE INDEX request_log_request_id_idx ON request_log (request_id);

-- Bytes that the test world of an account has stored on a day. Growth: one per account and day, pruned.
CREATE TABLE test_usage (
  account_id uuid NOT NULL,
  day date NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT test_usage_pkey PRIMARY KEY (account_id, day),
  CONSTRAINT test_usage_not_negative CHECK (bytes >= 0)
);

-- Requests per hour. Growth: pruned after 32 days.
CREATE TABLE request_counts (
  hour timestamptz(6) NOT NULL,
  succeeded bigint NOT NULL,
  refused bigint NOT NULL,
  limited bigint NOT NULL,
  failed bigint NOT NULL,
  latencies bigint[],
  CONSTRAINT request_counts_pkey PRIMARY KEY (hour),
  CONSTRAINT request_counts_not_negative CHECK (succeeded >= 0
    AND refused >= 0
    AND limited >= 0
    AND failed >= 0
    AND latencies IS NOT NULL
    AND 0 <= ALL (latencies))
);

-- ======== Audit log ========

-- Actions of people, tokens and commands. Growth: one per action, never deleted.
CREATE TABLE audit_log (
  id uuid NOT NULL,
  account_id uuid,
  actor_type text NOT NULL,
  actor_id uuid,
  action text NOT NULL,
  target text,
  before json,
  after json,
  reason text,
  ip text,
  request_id text,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT audit_log_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_log_account_id_id_idx ON audit_log (account_id, id);
CREATE INDEX audit_log_action_id_idx ON audit_log (action, id);
CREATE INDEX audit_log_actor_id_id_idx ON audit_log (actor_id, id);
CREATE TRIGGER audit_log_append_only
  BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log FOR EACH STATEMENT
  EXECUTE FUNCTION troco_refuse_change();

-- ======== Processes and backups ========

-- Clocks of processes. Growth: deleted when a process ends.
CREATE TABLE process_clocks (
  id uuid NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  offset_ms bigint NOT NULL,
  measured_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  serves boolean NOT NULL DEFAULT false,
  machine text NOT NULL DEFAULT '',
  CONSTRAINT process_clocks_pkey PRIMARY KEY (id)
);

-- Workers that run. Growth: deleted when a worker ends.
CREATE TABLE worker_heartbeats (
  id uuid NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  beat_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  started_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT worker_heartbeats_pkey PRIMARY KEY (id)
);

-- Fingerprint of the secret that seals and signs. Growth: one row.
CREATE TABLE server_secrets (
  is_current boolean NOT NULL DEFAULT true,
  key_id text NOT NULL,
  set_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT server_secrets_pkey PRIMARY KEY (is_current),
  CONSTRAINT server_secrets_is_current CHECK (is_current)
);

-- Backups. Growth: one per backup.
CREATE TABLE backup_runs (
  kind text NOT NULL,
  began_at timestamptz(6) NOT NULL,
  ended_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  bytes bigint NOT NULL,
  recovered_to timestamptz(6),
  problem text,
  CONSTRAINT backup_runs_pkey PRIMARY KEY (kind, began_at),
  CONSTRAINT backup_runs_kind_known CHECK (kind IN ('backup', 'drill'))
);

-- Marks of the epoch after a restore. Growth: one.
CREATE TABLE restore_marks (
  restored_to timestamptz(6) NOT NULL,
  made_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT restore_marks_pkey PRIMARY KEY (restored_to)
);

-- References between tables of which the later one is above.
ALTER TABLE accounts ADD CONSTRAINT accounts_paying_connection_id_fkey FOREIGN KEY (paying_connection_id,
  is_connection_assignable) REFERENCES connections(id, is_assignable) ON DELETE RESTRICT;
ALTER TABLE accounts ADD CONSTRAINT accounts_receiving_connection_id_fkey FOREIGN KEY (receiving_connection_id,
  is_connection_assignable) REFERENCES connections(id, is_assignable) ON DELETE RESTRICT;
ALTER TABLE unmatched_returns ADD CONSTRAINT unmatched_returns_item_id_fkey FOREIGN KEY (item_id)
  REFERENCES differences(id) ON DELETE RESTRICT;

-- ======== First rows ========

-- The simulated bank, to which test mode is connected.
INSERT INTO connections (id, name, kind, settings)
VALUES ('00000000-0000-7000-8000-000000000001', 'simulator', 'simulator', '{}');

-- The ledger accounts of the operator's account.
INSERT INTO ledger_accounts (account_id, mode, ledger)
SELECT '00000000-0000-7000-8000-000000000002', mode, ledger
FROM unnest(ARRAY['test', 'live']) AS m (mode), unnest(ARRAY['own', 'unmatched', 'external']) AS l (ledger);
