-- a call to a bank
INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
    connection_id)
SELECT c.account_id, c.id, c.mode, $1, $2, c.subject_id, c.request::json, $3::uuid
FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::uuid[], $8::text[]) AS c (account_id, id, mode,
    subject_id, request);

UPDATE gateway_calls g
SET outcome = $1, finished_at = clock_timestamp(), response = c.response::json
FROM unnest($2::uuid[], $3::text[]) AS c (id, response)
WHERE g.id = c.id;
