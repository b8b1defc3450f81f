-- Places of payouts at a bank: a withdrawal that was sent to it has one until place_until or its end,
-- whichever is earlier. The queue of a connection says which account has its turn. docs/decisions/035.
--
-- Locks: ACCESS EXCLUSIVE on one table, held for milliseconds once granted; the migrator waits two
-- seconds for it and tries again. No row is read or rewritten.
ALTER TABLE withdrawals ADD COLUMN place_until timestamptz(6);

CREATE TABLE payout_queues (
  connection_id uuid NOT NULL,
  last_served uuid,
  paused_until timestamptz(6),
  buckets jsonb NOT NULL DEFAULT jsonb_build_object(),
  CONSTRAINT payout_queues_pkey PRIMARY KEY (connection_id)
);
