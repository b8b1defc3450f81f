-- a token whose last use was over a minute ago
SELECT a.id AS "accountId", t.mode AS "mode", t.permissions AS "permissions", a.name AS "name",
    a.city AS "city", a.expires_in AS "expiresIn", a.status AS "status", t.issued_by AS "issuedBy",
    t.former_issuers AS "formerIssuers", t.allowed_addresses AS "allowedAddresses",
    t.parent_id AS "parentId", (SELECT p.allowed_addresses
    FROM tokens p WHERE p.account_id = t.account_id AND p.id = t.parent_id) AS "parentAddresses",
    CASE WHEN t.mode = 'live' THEN (SELECT n.id
    FROM connections n WHERE n.id = a.receiving_connection_id AND n.check_code = 'ok')
    END AS "receivingConnectionId", CASE
    WHEN t.mode = 'live' THEN (SELECT n.id
    FROM connections n WHERE n.id = a.paying_connection_id AND n.check_code = 'ok'
    AND n.paying_key IS NOT NULL) END AS "payingConnectionId", t.id AS "tokenId",
    (t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute') AS stale
FROM tokens t
JOIN accounts a ON a.id = t.account_id
WHERE t.hash = $1 AND ((t.revoked_at IS NULL AND COALESCE(t.expires_at, 'infinity') > now())
    AND (t.parent_id IS NULL OR EXISTS (SELECT 1
    FROM tokens p WHERE p.account_id = t.account_id AND p.id = t.parent_id
    AND (p.revoked_at IS NULL AND COALESCE(p.expires_at, 'infinity') > now()))))
    AND NOT pg_is_in_recovery();

UPDATE tokens
SET last_used_at = now()
WHERE hash = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');
