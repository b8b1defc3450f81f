-- a call to a bank
INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json
FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::uuid[], $7::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::uuid[], $4::text[]) AS c (account_id, id, response)
WHERE g.account_id = c.account_id AND g.id = c.id;
