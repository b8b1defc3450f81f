-- An account may allow that charges repeat an external_id. The slot is 0, and null for a repetition: the
-- unique key of the next migration lets nulls repeat, and keeps one charge per external_id otherwise.
--
-- Locks: ACCESS EXCLUSIVE on two tables for a moment; no table is rewritten.
ALTER TABLE accounts ADD COLUMN repeats_external_ids boolean NOT NULL DEFAULT false;
ALTER TABLE charges ADD COLUMN external_id_slot smallint DEFAULT 0;
