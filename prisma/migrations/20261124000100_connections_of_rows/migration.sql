-- Validates what the migrations before added.
--
-- Locks: SHARE UPDATE EXCLUSIVE on each table for one scan: reads and writes go on.
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_connection_assignable;
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_receiving_connection_id_fkey;
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_paying_connection_id_fkey;
ALTER TABLE charges VALIDATE CONSTRAINT charges_simulator_in_test;
ALTER TABLE charges VALIDATE CONSTRAINT charges_connection_id_fkey;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_simulator_in_test;
ALTER TABLE withdrawals VALIDATE CONSTRAINT withdrawals_connection_id_fkey;
ALTER TABLE refunds VALIDATE CONSTRAINT refunds_simulator_in_test;
ALTER TABLE refunds VALIDATE CONSTRAINT refunds_connection_id_fkey;
