-- The backups and drills that ran, for the health page, and restores after which nothing may serve yet.
--
-- Locks: none, the tables are new.
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

CREATE TABLE restore_marks (
  restored_to timestamptz(6) PRIMARY KEY,
  made_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP
);
