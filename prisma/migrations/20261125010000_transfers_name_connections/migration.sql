-- The connection of each transfer on `external`: the bank contract through which the money moved
-- (docs/decisions/033). Older rows, and those of a process of the version before, get the simulator by
-- default, also transfers inside an account, which have no connection otherwise: rows are never changed.
-- There is no foreign key: each payment would lock the row of its connection.
--
-- Locks: ACCESS EXCLUSIVE on ledger_transfers, held for milliseconds once granted; the migrator waits two
-- seconds for it and tries again. No row is read or rewritten: the default is constant, and the next
-- migration validates the CHECK.
ALTER TABLE ledger_transfers
  ADD COLUMN connection_id uuid DEFAULT '00000000-0000-7000-8000-000000000001',
  ADD CONSTRAINT ledger_transfers_connection_of_external CHECK (
    CASE WHEN 'external' IN (debit, credit) THEN connection_id IS NOT NULL
      ELSE connection_id IS NULL OR connection_id = '00000000-0000-7000-8000-000000000001' END)
    NOT VALID;
