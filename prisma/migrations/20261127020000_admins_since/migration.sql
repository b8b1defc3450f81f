-- Since when a user is an admin and who made them one, and when the operator last reset how they sign in
-- and who did it. A null person is the command line. Until now only the command line did either, so
-- the creation of the user and the audit log tell both for every user of before.
--
-- Locks: ACCESS EXCLUSIVE on one table, held for the update of the admins, of whom there are few; the
-- migrator waits two seconds for it and tries again.
ALTER TABLE users
  ADD COLUMN admin_since timestamptz(6),
  ADD COLUMN admin_by uuid,
  ADD COLUMN reset_at timestamptz(6),
  ADD COLUMN reset_by uuid;

UPDATE users u SET admin_since = u.created_at,
  admin_by = (SELECT r.actor_id FROM audit_log r WHERE r.action = 'user.created'
    AND r.target = u.id::text ORDER BY r.id LIMIT 1)
WHERE u.is_admin;

UPDATE users u SET reset_at = r.created_at, reset_by = r.actor_id
FROM (SELECT DISTINCT ON (target) target, created_at, actor_id FROM audit_log
  WHERE action IN ('user.reset_link_made', 'user.openid_unlinked') ORDER BY target, id DESC) r
WHERE r.target = u.id::text AND u.is_admin;
