-- The list of deliveries by type reads the newest of each, however few they are among all events.
CREATE INDEX events_account_id_mode_type_sequence_idx ON events (account_id, mode, type, sequence);

-- What goes to a webhook_url, for an account whose events go to endpoints, too.
CREATE INDEX deliveries_resource_idx ON deliveries (account_id, mode, sequence)
  WHERE endpoint_id IS NULL;
