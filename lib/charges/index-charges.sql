-- new charges
WITH behind AS (
  SELECT a.id AS account_id, w.mode, m.id AS mark
  FROM accounts a
  CROSS JOIN (VALUES ('test'), ('live')) AS w (mode)
  LEFT JOIN charge_search_marks m ON m.account_id = a.id AND m.mode = w.mode
  WHERE EXISTS (SELECT FROM charges c WHERE c.account_id = a.id AND c.mode = w.mode
      AND c.status <> 'opening' AND c.id > COALESCE(m.id, $1::uuid) AND c.id < $2::uuid)
  ORDER BY m.id NULLS FIRST
  LIMIT $3
), share AS (
  SELECT greatest(1, $4::int / greatest(1, count(*)::int)) AS most
  FROM behind
), due AS (
  SELECT n.*
  FROM behind b
  CROSS JOIN share
  CROSS JOIN LATERAL (SELECT c.account_id, c.id, c.mode,
      troco_fold(c.client_name || chr(10) || c.client_email || CASE
      WHEN c.external_id = c.txid THEN '' ELSE chr(10) || c.external_id END) AS words,
      upper(translate(c.client_doc, './ -', '')) AS doc, c.amount
      FROM charges c WHERE c.account_id = b.account_id AND c.mode = b.mode
      AND c.status <> 'opening' AND c.id > COALESCE(b.mark, $5::uuid)
      AND c.id < $6::uuid ORDER BY c.id LIMIT share.most) n
), written AS (
  INSERT INTO charge_searches (account_id, id, mode, words, doc, amount)
  SELECT *
  FROM due
  ON CONFLICT DO NOTHING
), marked AS (
  INSERT INTO charge_search_marks AS m (account_id, mode, id)
  SELECT account_id, mode, max(id::text)::uuid
  FROM due
  GROUP BY account_id, mode
  ON CONFLICT (account_id, mode) DO UPDATE
  SET id = GREATEST(m.id, EXCLUDED.id)
)
SELECT count(*)::int AS count, min(id::text) AS reached
FROM due;

-- charges behind the mark
INSERT INTO charge_searches (account_id, id, mode, words, doc, amount)
SELECT c.account_id, c.id, c.mode,
    troco_fold(c.client_name || chr(10) || c.client_email || CASE
    WHEN c.external_id = c.txid THEN '' ELSE chr(10) || c.external_id END) AS words,
    upper(translate(c.client_doc, './ -', '')) AS doc, c.amount
FROM charge_search_marks m
JOIN charges c ON c.account_id = m.account_id AND c.mode = m.mode AND c.id <= m.id
WHERE c.status <> 'opening' AND c.id >= $1::uuid
    AND NOT EXISTS (SELECT FROM charge_searches s WHERE s.account_id = c.account_id AND s.id = c.id)
LIMIT $2
ON CONFLICT DO NOTHING;
