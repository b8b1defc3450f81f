-- charges since a time
SELECT row_to_json(found)::text AS json
FROM (SELECT count(*) FILTER (WHERE c.status = 'paid') AS paid, count(*) AS decided,
    (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY date_part('epoch',
    c.paid_at) - date_part('epoch', c.created_at)) FROM charges c WHERE c.account_id = $1::uuid
    AND c.mode = $2 AND c.paid_at >= $3::timestamptz) AS seconds
    FROM charges c WHERE c.account_id = $4::uuid AND c.mode = $5
    AND c.status IN ('paid', 'expired', 'failed') AND c.id >= $6::uuid) found;
