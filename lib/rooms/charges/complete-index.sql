-- rows of an earlier version
WITH due AS MATERIALIZED (
  SELECT d.*
  FROM charge_search_marks m
  CROSS JOIN LATERAL (SELECT s.account_id, s.id
      FROM charge_searches s WHERE s.account_id = m.account_id AND s.mode = m.mode
      AND s.amount IS NULL ORDER BY s.amount DESC, s.id DESC LIMIT $1 FOR UPDATE SKIP LOCKED) d
  LIMIT $2
), made AS MATERIALIZED (
  SELECT c.account_id, c.id, troco_fold(c.client_name || chr(10) || c.client_email || CASE
      WHEN c.external_id = c.txid THEN '' ELSE chr(10) || c.external_id END) AS words, c.amount
  FROM due
  CROSS JOIN LATERAL (SELECT * FROM charges c WHERE c.account_id = due.account_id
      AND c.id = due.id OFFSET 0) c
)
UPDATE charge_searches s
SET words = made.words, amount = made.amount
FROM made
WHERE s.account_id = made.account_id AND s.id = made.id AND s.amount IS NULL;

SELECT count(*)::text AS json
FROM charge_search_marks m
JOIN charge_searches s ON s.account_id = m.account_id AND s.mode = m.mode
WHERE s.amount IS NULL;

UPDATE backfills
SET total = done, ended_at = now()
WHERE name = $1 AND ended_at IS NULL;
