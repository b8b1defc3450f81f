-- Deliveries are pruned, and the first steps of a merchant stay done.
--
-- Locks: ACCESS EXCLUSIVE on event_sequences, held for milliseconds once granted; no row is rewritten.
ALTER TABLE event_sequences ADD COLUMN first_delivered_at timestamptz(6);
