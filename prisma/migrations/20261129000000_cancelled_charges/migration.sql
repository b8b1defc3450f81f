-- When a member or a program cancelled a charge. A payment that arrives later still makes it paid.
--
-- Locks: ACCESS EXCLUSIVE on one table, held for milliseconds once granted; the migrator waits two
-- seconds for it and tries again. No row is read or rewritten: no row of before was cancelled.
ALTER TABLE charges
  ADD COLUMN cancelled_at timestamptz(6),
  ADD CONSTRAINT charges_cancelled_has_ended
    CHECK (cancelled_at IS NULL OR status IN ('expired', 'paid')) NOT VALID;
