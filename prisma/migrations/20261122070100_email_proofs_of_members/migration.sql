-- Counts an address as proven if its user is a member, accepted an invitation, used a reset link or
-- signs in by OpenID. Other users prove it at their next sign-in.
--
-- Locks: the updated rows until the commit; sign-ins read them without waiting. The audit log is read
-- once.
UPDATE users u
SET email_verified_at = now(), email_verified_by = 'migration', is_email_verified = true
WHERE NOT u.is_email_verified AND (
  u.oidc_subject IS NOT NULL
  OR EXISTS (SELECT FROM memberships m WHERE m.user_id = u.id)
  OR u.email IN (SELECT i.email FROM invitations i WHERE i.accepted_at IS NOT NULL)
  OR u.id::text IN (SELECT r.target FROM audit_log r WHERE r.action = 'user.password_reset'));
