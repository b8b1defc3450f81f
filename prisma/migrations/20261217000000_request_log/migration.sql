-- Requests with tokens, for their accounts (docs/decisions/059). Partitioned by day: the id begins with its time.
-- troco_rotate_request_log() makes and drops the partitions. A new table: no locks elsewhere.
CREATE TABLE request_log (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL,
  token_id uuid NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  resource_id uuid,
  status integer NOT NULL,
  code text,
  duration_us integer NOT NULL,
  request_id text NOT NULL,
  request_body json,
  request_bytes integer,
  response_body json,
  response_bytes integer NOT NULL,
  created_at timestamptz(6) NOT NULL,
  CONSTRAINT request_log_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT request_log_mode_known CHECK (mode IN ('test', 'live')),
  CONSTRAINT request_log_bodies_short
    CHECK (octet_length(request_body::text) <= 4096 AND octet_length(response_body::text) <= 4096)
) PARTITION BY RANGE (id);
