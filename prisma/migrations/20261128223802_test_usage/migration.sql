-- Bytes that the test world of an account has stored per day, for TEST_BYTES_PER_DAY. A new table: no
-- locks elsewhere.
CREATE TABLE test_usage (
  account_id uuid NOT NULL,
  day date NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT test_usage_pkey PRIMARY KEY (account_id, day),
  CONSTRAINT test_usage_not_negative CHECK (bytes >= 0)
);
