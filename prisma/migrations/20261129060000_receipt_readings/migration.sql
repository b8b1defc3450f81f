-- Readings of a bank's list of receipts: up to which time it was read, by a reading of each pace, and the
-- place of one that has not ended. docs/decisions/039.
--
-- Locks: none on tables that exist. Without a foreign key: writing it must wait for nothing.
CREATE TABLE receipt_readings (
  connection_id uuid NOT NULL,
  pace text NOT NULL,
  read_until timestamptz(6) NOT NULL,
  since timestamptz(6),
  until timestamptz(6),
  place text,
  due_at timestamptz(6) NOT NULL,
  lease uuid,
  CONSTRAINT receipt_readings_pkey PRIMARY KEY (connection_id, pace),
  CONSTRAINT receipt_readings_pace_known CHECK (pace IN ('recent', 'late', 'daily')),
  CONSTRAINT receipt_readings_period CHECK ((since IS NULL) = (until IS NULL)
    AND (place IS NULL OR since IS NOT NULL))
);
