-- version 1
-- Returns the host of a URL without user and port, for the limit of concurrent calls per host.
-- Called by lib/services/webhooks/events.ts and lib/services/webhooks/endpoints.ts.
CREATE OR REPLACE FUNCTION troco_host_of(url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT COALESCE(substring(lower(url) FROM '^https?://(?:[^/?#@]*@)?(\[[^]]*\]|[^/?#:]*)'), '')
$$;
