-- The simulator's connection in test mode and no other, a bank's in live mode.
--
-- Locks: ACCESS EXCLUSIVE on withdrawals, for milliseconds. No row is read or rewritten: the default is
-- constant. It names the simulator, so that a process of the version before, which knows no other, can
-- go on inserting.
ALTER TABLE withdrawals
  ADD COLUMN connection_id uuid NOT NULL DEFAULT '00000000-0000-7000-8000-000000000001',
  ADD CONSTRAINT withdrawals_simulator_in_test
    CHECK ((mode = 'test') = (connection_id = '00000000-0000-7000-8000-000000000001')) NOT VALID,
  ADD CONSTRAINT withdrawals_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections (id)
    ON DELETE RESTRICT ON UPDATE NO ACTION NOT VALID;
