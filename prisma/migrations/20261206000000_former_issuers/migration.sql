-- Stores who issued a token before it was confirmed by somebody else: they may know its value. Existing
-- ones come from the audit log, which has a record of every confirmation.
--
-- Locks: ACCESS EXCLUSIVE on tokens for the change of the catalog, and the updated rows until the commit.
ALTER TABLE tokens ADD COLUMN former_issuers uuid[] DEFAULT ARRAY[]::uuid[];

UPDATE tokens t SET former_issuers = f.ids
FROM (SELECT r.account_id, r.target, array_agg(DISTINCT (r.before ->> 'issued_by')::uuid) AS ids
  FROM audit_log r
  WHERE r.action = 'token.adopted' AND r.before ->> 'issued_by' IS NOT NULL
  GROUP BY r.account_id, r.target) f
WHERE f.account_id = t.account_id AND f.target = t.id::text;
