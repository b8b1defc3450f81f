-- Calls in progress of an account and of one of its lanes. A claim counts these rows.
--
-- Locks: SHARE on deliveries while the table is read once: 35 ms per 100,000 rows. Requests
-- that record an event wait meanwhile.
CREATE INDEX deliveries_in_flight_idx ON deliveries (account_id, host) WHERE lease IS NOT NULL;
