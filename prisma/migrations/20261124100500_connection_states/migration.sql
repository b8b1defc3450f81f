-- What calls have shown about a connection, for all processes: whether it rests after failed calls, and
-- what the bank blocks until the operator acts. docs/decisions/034.
--
-- Locks: none on other tables. There is no foreign key: a state is written after a failed call, and must
-- wait for nothing.
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
  CONSTRAINT connection_states_rest CHECK ((opened_at IS NULL) = (retry_at IS NULL)
    AND (probe_until IS NULL OR opened_at IS NOT NULL))
);
