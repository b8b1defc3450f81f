-- API requests per hour, for the overview of staff (docs/decisions/052). A new table: no locks elsewhere.
CREATE TABLE request_counts (
  hour timestamptz(6) NOT NULL,
  succeeded bigint NOT NULL,
  refused bigint NOT NULL,
  limited bigint NOT NULL,
  failed bigint NOT NULL,
  latencies bigint[],
  CONSTRAINT request_counts_pkey PRIMARY KEY (hour),
  CONSTRAINT request_counts_not_negative
    CHECK (succeeded >= 0 AND refused >= 0 AND limited >= 0 AND failed >= 0
      AND latencies IS NOT NULL AND 0 <= ALL (latencies))
);
