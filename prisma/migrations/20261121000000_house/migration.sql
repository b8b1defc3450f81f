-- Tables, keys and references: as Prisma makes them from schema.prisma. What only SQL can say follows below.

CREATE TABLE "accounts" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "city" TEXT NOT NULL DEFAULT 'BRASILIA',
    "status" TEXT NOT NULL DEFAULT 'active',
    "status_reason" TEXT,
    "expires_in" INTEGER NOT NULL DEFAULT 86400,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "users" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT,
    "is_admin" BOOLEAN NOT NULL DEFAULT false,
    "locale" TEXT,
    "theme" TEXT,
    "disabled_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "memberships" (
    "account_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "memberships_pkey" PRIMARY KEY ("account_id","user_id")
);

CREATE TABLE "user_sessions" (
    "id" UUID NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "user_id" UUID NOT NULL,
    "ip" TEXT,
    "user_agent" TEXT,
    "proved_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    "revoked_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "user_sessions_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "tokens" (
    "account_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "prefix" TEXT NOT NULL,
    "last_four" TEXT NOT NULL,
    "permissions" TEXT[],
    "expires_at" TIMESTAMPTZ(6),
    "last_used_at" TIMESTAMPTZ(6),
    "revoked_at" TIMESTAMPTZ(6),
    "revoked_reason" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tokens_pkey" PRIMARY KEY ("account_id","id")
);

CREATE TABLE "charges" (
    "account_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "external_id" TEXT NOT NULL,
    "txid" TEXT NOT NULL,
    "br_code" TEXT,
    "client_name" TEXT NOT NULL,
    "client_email" TEXT NOT NULL,
    "client_doc" TEXT NOT NULL,
    "client_phone" TEXT,
    "webhook_url" TEXT,
    "ip" TEXT,
    "metadata" JSON,
    "utms" JSON,
    "items" JSON,
    "end_to_end_id" TEXT,
    "refunded_amount" BIGINT NOT NULL DEFAULT 0,
    "refund_held_amount" BIGINT NOT NULL DEFAULT 0,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    "paid_at" TIMESTAMPTZ(6),
    "due_at" TIMESTAMPTZ(6),
    "lease" UUID,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "charges_pkey" PRIMARY KEY ("account_id","id")
);

CREATE TABLE "withdrawals" (
    "account_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "pix_key_type" TEXT NOT NULL,
    "pix_key" TEXT NOT NULL,
    "dict_key" TEXT NOT NULL,
    "external_id" TEXT,
    "webhook_url" TEXT,
    "rejection_reason" TEXT,
    "end_to_end_id" TEXT,
    "sent_at" TIMESTAMPTZ(6),
    "approved_at" TIMESTAMPTZ(6),
    "rejected_at" TIMESTAMPTZ(6),
    "due_at" TIMESTAMPTZ(6),
    "lease" UUID,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "withdrawals_pkey" PRIMARY KEY ("account_id","id")
);

CREATE TABLE "refunds" (
    "account_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "charge_id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "reason" TEXT,
    "rejection_reason" TEXT,
    "return_id" TEXT,
    "sent_at" TIMESTAMPTZ(6),
    "completed_at" TIMESTAMPTZ(6),
    "rejected_at" TIMESTAMPTZ(6),
    "due_at" TIMESTAMPTZ(6),
    "lease" UUID,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "refunds_pkey" PRIMARY KEY ("account_id","id")
);

CREATE TABLE "ledger_accounts" (
    "account_id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "ledger" TEXT NOT NULL,
    "balance" BIGINT NOT NULL DEFAULT 0,
    "version" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "ledger_accounts_pkey" PRIMARY KEY ("account_id","mode","ledger")
);

CREATE TABLE "ledger_transfers" (
    "account_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "subject_id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "debit" TEXT NOT NULL,
    "credit" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_transfers_pkey" PRIMARY KEY ("account_id","kind","subject_id")
);

CREATE TABLE "ledger_entries" (
    "account_id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "ledger" TEXT NOT NULL,
    "version" BIGINT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject_id" UUID NOT NULL,
    "amount" BIGINT NOT NULL,
    "balance_after" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ledger_entries_pkey" PRIMARY KEY ("account_id","mode","ledger","version")
);

CREATE TABLE "event_sequences" (
    "account_id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "last" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "event_sequences_pkey" PRIMARY KEY ("account_id","mode")
);

CREATE TABLE "events" (
    "account_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "sequence" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "subject_id" UUID NOT NULL,
    "resource" JSON NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "events_pkey" PRIMARY KEY ("account_id","id")
);

CREATE TABLE "webhook_endpoints" (
    "account_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "event_types" TEXT[],
    "disabled_at" TIMESTAMPTZ(6),
    "disabled_reason" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("account_id","id")
);

CREATE TABLE "webhook_secrets" (
    "account_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "endpoint_id" UUID,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "retires_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("account_id","id")
);

CREATE TABLE "deliveries" (
    "account_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "event_id" UUID NOT NULL,
    "subject_id" UUID NOT NULL,
    "sequence" BIGINT NOT NULL,
    "endpoint_id" UUID,
    "url" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(6),
    "lease" UUID,
    "delivered_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "deliveries_pkey" PRIMARY KEY ("account_id","id")
);

CREATE TABLE "delivery_attempts" (
    "account_id" UUID NOT NULL,
    "delivery_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "request_headers" JSON NOT NULL,
    "request_body" TEXT,
    "address" TEXT,
    "response_status" INTEGER,
    "response_headers" JSON,
    "response_body" TEXT,
    "problem" TEXT,
    "duration_ms" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "delivery_attempts_pkey" PRIMARY KEY ("account_id","delivery_id","number")
);

CREATE TABLE "idempotency_keys" (
    "account_id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" BYTEA NOT NULL,
    "resource_id" UUID NOT NULL,
    "status" INTEGER,
    "answer" TEXT,
    "locked_until" TIMESTAMPTZ(6),
    "expires_at" TIMESTAMPTZ(6) NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("account_id","mode","path","key")
);

CREATE TABLE "gateway_calls" (
    "account_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "mode" TEXT NOT NULL,
    "gateway" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "subject_id" UUID NOT NULL,
    "request" JSON NOT NULL,
    "outcome" TEXT,
    "response" JSON,
    "finished_at" TIMESTAMPTZ(6),
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "gateway_calls_pkey" PRIMARY KEY ("account_id","id")
);

CREATE TABLE "audit_log" (
    "id" UUID NOT NULL,
    "account_id" UUID,
    "actor_type" TEXT NOT NULL,
    "actor_id" UUID,
    "action" TEXT NOT NULL,
    "target" TEXT,
    "before" JSON,
    "after" JSON,
    "reason" TEXT,
    "ip" TEXT,
    "request_id" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "worker_heartbeats" (
    "id" UUID NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "beat_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "worker_heartbeats_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "simulator_orders" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "state" TEXT NOT NULL,
    "reason" TEXT,
    "end_to_end_id" TEXT,
    "settles_at" TIMESTAMPTZ(6) NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "simulator_orders_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

CREATE INDEX "memberships_user_id_idx" ON "memberships"("user_id");

CREATE UNIQUE INDEX "user_sessions_secret_hash_key" ON "user_sessions"("secret_hash");

CREATE INDEX "user_sessions_user_id_idx" ON "user_sessions"("user_id");

CREATE UNIQUE INDEX "tokens_hash_key" ON "tokens"("hash");

CREATE UNIQUE INDEX "charges_txid_key" ON "charges"("txid");

CREATE INDEX "charges_account_id_mode_id_idx" ON "charges"("account_id", "mode", "id");

CREATE UNIQUE INDEX "charges_account_id_mode_external_id_key" ON "charges"("account_id", "mode", "external_id");

CREATE INDEX "withdrawals_account_id_mode_id_idx" ON "withdrawals"("account_id", "mode", "id");

CREATE UNIQUE INDEX "withdrawals_account_id_mode_external_id_key" ON "withdrawals"("account_id", "mode", "external_id");

CREATE INDEX "refunds_account_id_charge_id_idx" ON "refunds"("account_id", "charge_id");

CREATE UNIQUE INDEX "ledger_entries_account_id_kind_subject_id_ledger_key" ON "ledger_entries"("account_id", "kind", "subject_id", "ledger");

CREATE INDEX "events_account_id_subject_id_idx" ON "events"("account_id", "subject_id");

CREATE UNIQUE INDEX "events_account_id_mode_sequence_key" ON "events"("account_id", "mode", "sequence");

CREATE INDEX "deliveries_account_id_mode_sequence_idx" ON "deliveries"("account_id", "mode", "sequence");

CREATE INDEX "deliveries_account_id_subject_id_idx" ON "deliveries"("account_id", "subject_id");

CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys"("expires_at");

CREATE INDEX "gateway_calls_account_id_subject_id_idx" ON "gateway_calls"("account_id", "subject_id");

CREATE INDEX "audit_log_account_id_id_idx" ON "audit_log"("account_id", "id");

ALTER TABLE "memberships" ADD CONSTRAINT "memberships_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "user_sessions" ADD CONSTRAINT "user_sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "tokens" ADD CONSTRAINT "tokens_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "charges" ADD CONSTRAINT "charges_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "withdrawals" ADD CONSTRAINT "withdrawals_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "refunds" ADD CONSTRAINT "refunds_account_id_charge_id_fkey" FOREIGN KEY ("account_id", "charge_id") REFERENCES "charges"("account_id", "id") ON DELETE RESTRICT ON UPDATE NO ACTION;

ALTER TABLE "ledger_accounts" ADD CONSTRAINT "ledger_accounts_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_account_id_mode_ledger_fkey" FOREIGN KEY ("account_id", "mode", "ledger") REFERENCES "ledger_accounts"("account_id", "mode", "ledger") ON DELETE RESTRICT ON UPDATE NO ACTION;

ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_account_id_kind_subject_id_fkey" FOREIGN KEY ("account_id", "kind", "subject_id") REFERENCES "ledger_transfers"("account_id", "kind", "subject_id") ON DELETE RESTRICT ON UPDATE NO ACTION;

ALTER TABLE "event_sequences" ADD CONSTRAINT "event_sequences_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "webhook_secrets" ADD CONSTRAINT "webhook_secrets_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "webhook_secrets" ADD CONSTRAINT "webhook_secrets_account_id_endpoint_id_fkey" FOREIGN KEY ("account_id", "endpoint_id") REFERENCES "webhook_endpoints"("account_id", "id") ON DELETE RESTRICT ON UPDATE NO ACTION;

ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_account_id_event_id_fkey" FOREIGN KEY ("account_id", "event_id") REFERENCES "events"("account_id", "id") ON DELETE RESTRICT ON UPDATE NO ACTION;

ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_account_id_endpoint_id_fkey" FOREIGN KEY ("account_id", "endpoint_id") REFERENCES "webhook_endpoints"("account_id", "id") ON DELETE RESTRICT ON UPDATE NO ACTION;

ALTER TABLE "delivery_attempts" ADD CONSTRAINT "delivery_attempts_account_id_delivery_id_fkey" FOREIGN KEY ("account_id", "delivery_id") REFERENCES "deliveries"("account_id", "id") ON DELETE RESTRICT ON UPDATE NO ACTION;


-- Prisma's adapter reads and writes times as if every session were in UTC.
DO $$ BEGIN
  EXECUTE format('ALTER DATABASE %I SET timezone TO %L', current_database(), 'UTC');
END $$;

-- Closed lists -----------------------------------------------------------------------------------

ALTER TABLE accounts
  ADD CONSTRAINT accounts_status_known CHECK (status IN ('active', 'pending', 'suspended')),
  ADD CONSTRAINT accounts_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
  ADD CONSTRAINT accounts_expires_in_range CHECK (expires_in BETWEEN 60 AND 2592000);

ALTER TABLE memberships
  ADD CONSTRAINT memberships_role_known CHECK (role IN ('owner', 'finance', 'developer', 'viewer'));

ALTER TABLE tokens
  ADD CONSTRAINT tokens_mode_known CHECK (mode IN ('test', 'live')),
  ADD CONSTRAINT tokens_hash_length CHECK (octet_length(hash) = 32);

ALTER TABLE user_sessions
  ADD CONSTRAINT user_sessions_secret_hash_length CHECK (octet_length(secret_hash) = 32);

-- Charges ----------------------------------------------------------------------------------------

ALTER TABLE charges
  ADD CONSTRAINT charges_mode_known CHECK (mode IN ('test', 'live')),
  ADD CONSTRAINT charges_status_known
    CHECK (status IN ('opening', 'pending', 'paid', 'expired', 'failed')),
  ADD CONSTRAINT charges_amount_range CHECK (amount BETWEEN 500 AND 999999999999),
  ADD CONSTRAINT charges_code_known CHECK (status = 'opening' OR br_code IS NOT NULL),
  ADD CONSTRAINT charges_paid_has_time CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
  ADD CONSTRAINT charges_refunds_within_paid
    CHECK (refunded_amount >= 0 AND refund_held_amount >= 0
      AND refunded_amount + refund_held_amount <= CASE WHEN status = 'paid' THEN amount ELSE 0 END),
  ADD CONSTRAINT charges_external_id_length CHECK (char_length(external_id) BETWEEN 1 AND 255);

CREATE UNIQUE INDEX charges_end_to_end_id_key ON charges (end_to_end_id)
  WHERE end_to_end_id IS NOT NULL;
CREATE INDEX charges_due_idx ON charges (due_at) WHERE due_at IS NOT NULL;

-- Withdrawals and refunds ------------------------------------------------------------------------

ALTER TABLE withdrawals
  ADD CONSTRAINT withdrawals_mode_known CHECK (mode IN ('test', 'live')),
  ADD CONSTRAINT withdrawals_status_known CHECK (status IN ('pending', 'approved', 'rejected')),
  ADD CONSTRAINT withdrawals_amount_range CHECK (amount BETWEEN 1000 AND 999999999999),
  ADD CONSTRAINT withdrawals_pix_key_type_known
    CHECK (pix_key_type IN ('cpf', 'cnpj', 'email', 'phone', 'random')),
  ADD CONSTRAINT withdrawals_approved_has_time
    CHECK ((status = 'approved') = (approved_at IS NOT NULL)),
  ADD CONSTRAINT withdrawals_rejected_has_time
    CHECK ((status = 'rejected') = (rejected_at IS NOT NULL)),
  ADD CONSTRAINT withdrawals_rejected_has_reason
    CHECK ((status = 'rejected') = (rejection_reason IS NOT NULL));

CREATE UNIQUE INDEX withdrawals_end_to_end_id_key ON withdrawals (end_to_end_id)
  WHERE end_to_end_id IS NOT NULL;
CREATE INDEX withdrawals_due_idx ON withdrawals (due_at) WHERE due_at IS NOT NULL;

ALTER TABLE refunds
  ADD CONSTRAINT refunds_mode_known CHECK (mode IN ('test', 'live')),
  ADD CONSTRAINT refunds_status_known CHECK (status IN ('pending', 'completed', 'rejected')),
  ADD CONSTRAINT refunds_amount_positive CHECK (amount > 0),
  ADD CONSTRAINT refunds_completed_has_time
    CHECK ((status = 'completed') = (completed_at IS NOT NULL)),
  ADD CONSTRAINT refunds_rejected_has_time CHECK ((status = 'rejected') = (rejected_at IS NOT NULL)),
  ADD CONSTRAINT refunds_rejected_has_reason
    CHECK ((status = 'rejected') = (rejection_reason IS NOT NULL));

CREATE INDEX refunds_due_idx ON refunds (due_at) WHERE due_at IS NOT NULL;

-- A state moves only along its arrows, and what was agreed never changes. The argument names the
-- arrows as "from>to".
CREATE FUNCTION troco_guard_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.account_id <> OLD.account_id OR NEW.id <> OLD.id OR NEW.mode <> OLD.mode
    OR NEW.amount <> OLD.amount THEN
    RAISE EXCEPTION 'account, id, mode and amount of a % row never change', TG_TABLE_NAME
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_terms_fixed';
  END IF;
  IF NEW.status <> OLD.status AND NOT (OLD.status || '>' || NEW.status = ANY (TG_ARGV)) THEN
    RAISE EXCEPTION 'a % row cannot go from % to %', TG_TABLE_NAME, OLD.status, NEW.status
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_state_moves';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER charges_guard_state BEFORE UPDATE ON charges FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('opening>pending', 'opening>failed', 'pending>paid',
    'pending>expired', 'pending>failed', 'expired>paid', 'failed>paid');
CREATE TRIGGER withdrawals_guard_state BEFORE UPDATE ON withdrawals FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('pending>approved', 'pending>rejected');
CREATE TRIGGER refunds_guard_state BEFORE UPDATE ON refunds FOR EACH ROW
  EXECUTE FUNCTION troco_guard_state('pending>completed', 'pending>rejected');

-- Ledger -----------------------------------------------------------------------------------------

-- Balances are rewritten with every movement: room in the page keeps the new row beside the old.
ALTER TABLE ledger_accounts SET (fillfactor = 50);
ALTER TABLE event_sequences SET (fillfactor = 50);

ALTER TABLE ledger_accounts
  ADD CONSTRAINT ledger_accounts_mode_known CHECK (mode IN ('test', 'live')),
  ADD CONSTRAINT ledger_accounts_ledger_known
    CHECK (ledger IN ('available', 'outbound', 'external')),
  ADD CONSTRAINT ledger_accounts_version_counts CHECK (version >= 0),
  ADD CONSTRAINT ledger_accounts_available_not_negative
    CHECK (ledger <> 'available' OR balance >= 0),
  ADD CONSTRAINT ledger_accounts_outbound_not_negative
    CHECK (ledger <> 'outbound' OR balance >= 0),
  ADD CONSTRAINT ledger_accounts_external_not_positive
    CHECK (ledger <> 'external' OR balance <= 0);

ALTER TABLE ledger_transfers
  ADD CONSTRAINT ledger_transfers_mode_known CHECK (mode IN ('test', 'live')),
  ADD CONSTRAINT ledger_transfers_amount_positive CHECK (amount > 0),
  ADD CONSTRAINT ledger_transfers_kind_known CHECK ((kind, debit, credit) IN (
    ('charge_paid', 'external', 'available'),
    ('withdrawal_held', 'available', 'outbound'),
    ('withdrawal_sent', 'outbound', 'external'),
    ('withdrawal_returned', 'outbound', 'available'),
    ('refund_held', 'available', 'outbound'),
    ('refund_sent', 'outbound', 'external'),
    ('refund_returned', 'outbound', 'available')));

ALTER TABLE ledger_entries
  ADD CONSTRAINT ledger_entries_version_counts CHECK (version >= 1),
  ADD CONSTRAINT ledger_entries_amount_moves CHECK (amount <> 0);

CREATE FUNCTION troco_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
    USING ERRCODE = 'check_violation', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;

CREATE TRIGGER ledger_transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();
CREATE TRIGGER ledger_accounts_kept BEFORE DELETE OR TRUNCATE ON ledger_accounts
  FOR EACH STATEMENT EXECUTE FUNCTION troco_refuse_change();

-- Events and deliveries --------------------------------------------------------------------------

ALTER TABLE event_sequences
  ADD CONSTRAINT event_sequences_mode_known CHECK (mode IN ('test', 'live'));
ALTER TABLE events
  ADD CONSTRAINT events_mode_known CHECK (mode IN ('test', 'live')),
  ADD CONSTRAINT events_type_known CHECK (type IN (
    'transaction.paid', 'transaction.expired', 'transaction.failed', 'transaction.refunded',
    'transaction.refund_failed', 'withdrawal.approved', 'withdrawal.rejected'));
ALTER TABLE webhook_endpoints
  ADD CONSTRAINT webhook_endpoints_mode_known CHECK (mode IN ('test', 'live'));
ALTER TABLE webhook_secrets
  ADD CONSTRAINT webhook_secrets_mode_known CHECK (mode IN ('test', 'live'));
ALTER TABLE deliveries
  ADD CONSTRAINT deliveries_mode_known CHECK (mode IN ('test', 'live')),
  ADD CONSTRAINT deliveries_status_known
    CHECK (status IN ('pending', 'delivered', 'exhausted', 'stopped')),
  ADD CONSTRAINT deliveries_delivered_has_time
    CHECK ((status = 'delivered') = (delivered_at IS NOT NULL)),
  ADD CONSTRAINT deliveries_due_while_pending CHECK (due_at IS NULL OR status = 'pending');

CREATE INDEX deliveries_due_idx ON deliveries (due_at) WHERE due_at IS NOT NULL;
-- One secret in force per account, mode and endpoint (no endpoint: the resource webhooks' own).
CREATE UNIQUE INDEX webhook_secrets_in_force ON webhook_secrets
  (account_id, mode, COALESCE(endpoint_id, '00000000-0000-0000-0000-000000000000'))
  WHERE retires_at IS NULL;

-- The simulated bank -----------------------------------------------------------------------------

ALTER TABLE simulator_orders
  ADD CONSTRAINT simulator_orders_kind_known CHECK (kind IN ('charge', 'payout', 'refund')),
  ADD CONSTRAINT simulator_orders_amount_positive CHECK (amount > 0);
