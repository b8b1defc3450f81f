-- How far the clock of each server and worker is from the database's, as it last measured it.
--
-- Locks: none, the table is new.
CREATE TABLE process_clocks (
  id uuid PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  offset_ms bigint NOT NULL,
  measured_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP
);
