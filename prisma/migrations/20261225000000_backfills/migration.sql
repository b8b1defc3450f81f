-- How far workers are with filling columns of rows from before a release, for the health page.
--
-- Locks: none, the table is new.
CREATE TABLE backfills (
  name text NOT NULL,
  done bigint NOT NULL,
  total bigint NOT NULL,
  began_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  moved_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  ended_at timestamptz(6),
  CONSTRAINT backfills_pkey PRIMARY KEY (name),
  CONSTRAINT backfills_done_limit CHECK (done >= 0 AND done <= total)
);
