-- charges that match all filters, for a remembered token
SELECT json_build_object('count', count(*), 'amount',
    LEAST(COALESCE(sum(r.amount), 0), $1::bigint), 'paid_amount',
    LEAST(COALESCE(sum(r.amount) FILTER (WHERE r.status = 'paid'), 0), $2::bigint))::text AS json
FROM (SELECT c.status, c.amount FROM charges c WHERE (SELECT COALESCE((SELECT t.account_id
    FROM tokens t JOIN accounts a ON a.id = t.account_id WHERE t.hash = $3
    AND (t.revoked_at IS NULL AND COALESCE(t.expires_at, 'infinity') > now())
    AND NOT pg_is_in_recovery() AND a.id IS NOT DISTINCT FROM $4::uuid
    AND t.mode IS NOT DISTINCT FROM $5::text AND t.permissions IS NOT DISTINCT FROM $6::text[]
    AND a.name IS NOT DISTINCT FROM $7::text AND a.city IS NOT DISTINCT FROM $8::text
    AND a.expires_in IS NOT DISTINCT FROM $9::int AND a.status IS NOT DISTINCT FROM $10::text
    AND t.issued_by IS NOT DISTINCT FROM $11::uuid
    AND t.former_issuers IS NOT DISTINCT FROM $12::uuid[]
    AND t.allowed_addresses IS NOT DISTINCT FROM $13::text[]
    AND t.parent_id IS NOT DISTINCT FROM $14::uuid), troco_refuse_caller())) IS NOT NULL
    AND c.account_id = $15::uuid AND c.mode = $16 AND c.status <> 'opening' AND c.status = $17
    AND c.external_id = $18 AND c.created_at >= $19::timestamptz AND c.id >= $20::uuid
    AND c.created_at < $21::timestamptz AND c.id < $22::uuid AND c.amount >= $23::bigint
    AND c.amount <= $24::bigint LIMIT $25) r;

-- charges that a search finds
WITH unindexed AS MATERIALIZED (
  SELECT c.account_id, c.id
  FROM charges c
  WHERE c.account_id = $1::uuid AND c.mode = $2 AND c.status <> 'opening'
      AND c.id > COALESCE((SELECT m.id FROM charge_search_marks m WHERE m.account_id = $3::uuid
      AND m.mode = $4), $5::uuid)
), found AS MATERIALIZED (
  SELECT c.account_id, c.id
  FROM charge_searches c
  WHERE c.account_id = $6::uuid AND c.mode = $7 AND c.mode IN ('test', 'live')
      AND c.words LIKE (SELECT '%' || regexp_replace(troco_fold($8), '([\\%_])', '\\\1',
      'g') || '%')
  UNION
  SELECT c.account_id, c.id
  FROM charge_searches c
  WHERE c.account_id = $9::uuid AND c.mode = $10 AND c.doc >= $11 AND c.doc <= $12
      AND starts_with(c.doc, $13)
  UNION
  SELECT c.account_id, c.id
  FROM charges c
  WHERE c.account_id = $14::uuid AND c.mode = $15 AND c.status <> 'opening'
      AND upper(reverse(c.end_to_end_id)) COLLATE "C" >= $16
      AND upper(reverse(c.end_to_end_id)) COLLATE "C" <= $17
      AND starts_with(upper(reverse(c.end_to_end_id)) COLLATE "C", $18)
  UNION
  SELECT c.account_id, c.id
  FROM charges c
  WHERE c.account_id = $19::uuid AND c.mode = $20 AND c.status <> 'opening' AND c.id = $21::uuid
  UNION
  SELECT c.account_id, c.id
  FROM charges c
  WHERE c.account_id = $22::uuid AND c.mode = $23 AND c.status <> 'opening' AND c.external_id = $24
  UNION
  SELECT c.account_id, c.id
  FROM charges c
  WHERE c.account_id = $25::uuid AND c.mode = $26 AND c.status <> 'opening'
      AND c.end_to_end_id = $27
  UNION
  SELECT c.account_id, c.id
  FROM unindexed
  CROSS JOIN LATERAL (SELECT * FROM charges c WHERE c.account_id = unindexed.account_id
      AND c.id = unindexed.id OFFSET 0) c
  WHERE (c.id = $28::uuid OR c.external_id = $29 OR c.end_to_end_id = $30
      OR starts_with(upper(reverse(c.end_to_end_id)) COLLATE "C", $31)
      OR starts_with(upper(translate(c.client_doc, './ -', '')), $32)
      OR (troco_fold(c.client_name || chr(10) || c.client_email || CASE
      WHEN c.external_id = c.txid THEN ''
      ELSE chr(10) || c.external_id END) LIKE (SELECT '%' || regexp_replace(troco_fold($33),
      '([\\%_])', '\\\1', 'g') || '%')))
)
SELECT json_build_object('count', count(*), 'amount',
    LEAST(COALESCE(sum(r.amount), 0), $34::bigint), 'paid_amount',
    LEAST(COALESCE(sum(r.amount) FILTER (WHERE r.status = 'paid'), 0), $35::bigint))::text AS json
FROM (SELECT c.status, c.amount FROM found CROSS JOIN LATERAL (SELECT *
    FROM charges c WHERE c.account_id = found.account_id
    AND c.id = found.id OFFSET 0) c WHERE c.account_id = $36::uuid AND c.mode = $37
    AND c.status <> 'opening' LIMIT $38) r;
