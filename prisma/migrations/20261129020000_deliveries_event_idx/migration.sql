-- For lib/edge/jobs/prune.ts and the foreign key to events: without it, deleting one event reads
-- all deliveries of its account.
CREATE INDEX CONCURRENTLY deliveries_account_id_event_id_idx ON deliveries (account_id, event_id);
