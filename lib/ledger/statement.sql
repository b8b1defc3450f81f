-- the bounds of a period
WITH RECURSIVE search(moment, bound, low, high) AS (
  SELECT m.moment::timestamptz, m.bound, m.low, l.version + 1
  FROM ledger_accounts l
  CROSS JOIN LATERAL (VALUES ($1::timestamptz, 'first', 1::bigint),
      ($2::timestamptz, 'end', 1::bigint)) m(moment, bound, low)
  WHERE account_id = $3::uuid AND mode = $4 AND ledger = 'available'
  UNION ALL
  SELECT s.moment, s.bound, CASE WHEN e.created_at < s.moment THEN e.version + 1 ELSE s.low END,
      CASE WHEN e.created_at < s.moment THEN s.high ELSE e.version END
  FROM search s
  CROSS JOIN LATERAL (SELECT e.version, e.created_at
      FROM ledger_entries e WHERE account_id = $5::uuid AND mode = $6 AND ledger = 'available'
      AND e.version = (s.low + s.high) / 2) e
  WHERE s.low < s.high
), found AS (
  SELECT f.low AS first, GREATEST(f.low, e.low) AS "end"
  FROM search f, search e
  WHERE f.bound = 'first' AND f.low = f.high AND e.bound = 'end' AND e.low = e.high
)
SELECT json_build_object('first', b.first, 'end', b."end", 'opening',
    COALESCE((SELECT e.balance_after FROM ledger_entries e WHERE account_id = $7::uuid
    AND mode = $8 AND ledger = 'available' AND e.version = b.first - 1), 0), 'closing',
    COALESCE((SELECT e.balance_after FROM ledger_entries e WHERE account_id = $9::uuid
    AND mode = $10 AND ledger = 'available' AND e.version = b."end" - 1), 0))::text AS json
FROM found b;
