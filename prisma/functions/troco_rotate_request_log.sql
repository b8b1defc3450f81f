-- version 1
-- Makes the partitions of request_log from yesterday to tomorrow, and drops those that are older than
-- 7 days, as the owner. Called in lib/worker/prune.ts and
-- lib/http/request-log.ts. The lock timeout keeps a long read
-- from stopping other reads behind this one; the next call tries again.
CREATE OR REPLACE FUNCTION troco_rotate_request_log() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
  today date := (now() AT TIME ZONE 'UTC')::date;
  day date;
  name text;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('troco_rotate_request_log'));
  FOR day IN SELECT today + n FROM generate_series(-1, 1) n LOOP
    name := 'request_log_' || to_char(day, 'YYYYMMDD');
    CONTINUE WHEN to_regclass('public.' || name) IS NOT NULL;
    EXECUTE format(
      'CREATE TABLE public.%I PARTITION OF public.request_log FOR VALUES FROM (%L) TO (%L)', name,
      rpad(lpad(to_hex(extract(epoch FROM day)::bigint * 1000), 12, '0'), 32, '0')::uuid,
      rpad(lpad(to_hex(extract(epoch FROM day + 1)::bigint * 1000), 12, '0'), 32, '0')::uuid);
  END LOOP;
  FOR name IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'public.request_log'::regclass
      AND c.relname < 'request_log_' || to_char(today - 7, 'YYYYMMDD')
  LOOP
    EXECUTE format('DROP TABLE public.%I', name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;
