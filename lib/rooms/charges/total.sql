-- charges that match all filters, for a remembered token
SELECT json_build_object('count', count(*), 'amount',
    LEAST(COALESCE(sum(r.amount), 0), $1::bigint), 'paid_amount',
    LEAST(COALESCE(sum(r.amount) FILTER (WHERE r.status = 'paid'), 0), $2::bigint))::text AS json
FROM (SELECT c.status, c.amount FROM charges c WHERE (SELECT COALESCE((SELECT t.account_id
    FROM tokens t JOIN accounts a ON a.id = t.account_id WHERE t.hash = $3
    AND (t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()))
    AND a.id IS NOT DISTINCT FROM $4::uuid AND t.mode IS NOT DISTINCT FROM $5::text
    AND t.permissions IS NOT DISTINCT FROM $6::text[] AND a.name IS NOT DISTINCT FROM $7::text
    AND a.city IS NOT DISTINCT FROM $8::text AND a.expires_in IS NOT DISTINCT FROM $9::int
    AND a.status IS NOT DISTINCT FROM $10::text AND t.issued_by IS NOT DISTINCT FROM $11::uuid
    AND t.former_issuers IS NOT DISTINCT FROM $12::uuid[]), troco_refuse_caller())) IS NOT NULL
    AND c.account_id = $13::uuid AND c.mode = $14 AND c.status <> 'opening' AND c.status = $15
    AND c.external_id = $16 AND c.created_at >= $17::timestamptz AND c.id >= $18::uuid
    AND c.created_at < $19::timestamptz AND c.id < $20::uuid AND c.amount >= $21::bigint
    AND c.amount <= $22::bigint LIMIT $23) r;

-- charges that a search finds
WITH found AS MATERIALIZED (
  SELECT c.account_id, c.id
  FROM charge_searches c
  WHERE c.account_id = $1::uuid AND c.mode = $2 AND c.mode IN ('test', 'live')
      AND c.words LIKE (SELECT '%' || regexp_replace(troco_fold($3), '([\\%_])', '\\\1',
      'g') || '%')
  UNION
  SELECT c.account_id, c.id
  FROM charge_searches c
  WHERE c.account_id = $4::uuid AND c.mode = $5 AND c.doc = $6
  UNION
  SELECT c.account_id, c.id
  FROM charges c
  WHERE c.account_id = $7::uuid AND c.mode = $8 AND c.status <> 'opening' AND c.id = $9::uuid
  UNION
  SELECT c.account_id, c.id
  FROM charges c
  WHERE c.account_id = $10::uuid AND c.mode = $11 AND c.status <> 'opening' AND c.external_id = $12
  UNION
  SELECT c.account_id, c.id
  FROM charges c
  WHERE c.account_id = $13::uuid AND c.mode = $14 AND c.status <> 'opening'
      AND c.end_to_end_id = $15
  UNION
  SELECT c.account_id, c.id
  FROM charges c
  WHERE c.account_id = $16::uuid AND c.mode = $17 AND c.status <> 'opening'
      AND c.id > COALESCE((SELECT m.id
      FROM charge_search_marks m WHERE m.account_id = $18::uuid AND m.mode = $19), $20::uuid)
      AND (c.id = $21::uuid OR c.external_id = $22 OR c.end_to_end_id = $23
      OR upper(translate(c.client_doc, './ -', '')) = $24
      OR troco_fold(c.client_name || chr(10) || c.client_email) LIKE (SELECT '%' ||
      regexp_replace(troco_fold($25), '([\\%_])', '\\\1', 'g') || '%'))
)
SELECT json_build_object('count', count(*), 'amount',
    LEAST(COALESCE(sum(r.amount), 0), $26::bigint), 'paid_amount',
    LEAST(COALESCE(sum(r.amount) FILTER (WHERE r.status = 'paid'), 0), $27::bigint))::text AS json
FROM (SELECT c.status, c.amount FROM found CROSS JOIN LATERAL (SELECT *
    FROM charges c WHERE c.account_id = found.account_id
    AND c.id = found.id OFFSET 0) c WHERE c.account_id = $28::uuid AND c.mode = $29
    AND c.status <> 'opening' LIMIT $30) r;
