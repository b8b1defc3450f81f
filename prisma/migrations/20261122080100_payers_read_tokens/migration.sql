-- Every existing token may read payers' documents, as before the permission existed.
--
-- Locks: the updated rows until the commit. A request waits for its token's row only if it records the
-- token's last use, which happens once a minute.
UPDATE tokens SET permissions = array_append(permissions, 'payers:read')
WHERE NOT 'payers:read' = ANY (permissions);
