-- Notices of banks: which payments and orders a connection is asked about soon, and who may send it notices.
-- docs/decisions/043.
--
-- Locks: ACCESS EXCLUSIVE on connections, for milliseconds: no row is rewritten. There is no foreign key: a
-- notice is stored at once, and must wait for nothing.
ALTER TABLE connections
  ADD COLUMN notice_secret_number integer NOT NULL DEFAULT 1,
  ADD COLUMN notice_rotated_at timestamptz(6),
  ADD COLUMN notice_cidrs text[] DEFAULT ARRAY[]::text[],
  ADD COLUMN notice_certificate boolean NOT NULL DEFAULT false,
  ADD CONSTRAINT connections_notice_cidrs CHECK (notice_cidrs IS NOT NULL),
  ADD CONSTRAINT connections_notice_secret_number CHECK (notice_secret_number > 0);

CREATE TABLE bank_notices (
  connection_id uuid NOT NULL,
  kind text NOT NULL,
  id text NOT NULL,
  due_at timestamptz(6) NOT NULL,
  asked_at timestamptz(6),
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT bank_notices_pkey PRIMARY KEY (connection_id, kind, id),
  CONSTRAINT bank_notices_kind_known CHECK (kind IN ('charge', 'payout', 'refund', 'receipt')),
  CONSTRAINT bank_notices_id_form CHECK (id ~ '^[A-Za-z0-9]{1,64}$'),
  CONSTRAINT bank_notices_attempts CHECK (attempts >= 0)
);

CREATE INDEX bank_notices_due_idx ON bank_notices (due_at);
