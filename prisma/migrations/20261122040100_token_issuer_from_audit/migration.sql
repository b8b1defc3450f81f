-- Takes the issuer of existing tokens from the audit log, which has a record of every token issued.
--
-- Locks: the updated rows until the commit. A request waits for its token's row only if it records the
-- token's last use, which happens once a minute.
UPDATE tokens t SET issued_by = u.id
FROM audit_log r JOIN users u ON u.id = r.actor_id
WHERE r.action = 'token.issued' AND r.actor_type = 'user' AND r.account_id = t.account_id
  AND r.target = t.id::text AND t.issued_by IS NULL;
