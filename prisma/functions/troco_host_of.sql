-- version 1
-- Returns about the host of a URL without user and port, for rows that an older process wrote without
-- a host. Others have the host from the URL parser.
-- Kept for troco_record_events.
CREATE OR REPLACE FUNCTION troco_host_of(url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT COALESCE(substring(lower(url) FROM '^https?://(?:[^/?#@]*@)?(\[[^]]*\]|[^/?#:]*)'), '')
$$;
