-- Refuses a membership of a user whose e-mail address is not proven, whichever statement adds it: the
-- foreign key finds only users with is_email_verified = true.
--
-- Locks: SHARE ROW EXCLUSIVE, then ACCESS EXCLUSIVE on memberships, SHARE ROW EXCLUSIVE on users, for
-- milliseconds. A process of the version before that adds a member in the meantime waits; its members
-- of until now count as proven. After it, such a process can add proven users only.
LOCK TABLE memberships IN SHARE ROW EXCLUSIVE MODE;
UPDATE users u
SET email_verified_at = now(), email_verified_by = 'migration', is_email_verified = true
WHERE NOT u.is_email_verified AND EXISTS (SELECT FROM memberships m WHERE m.user_id = u.id);

CREATE UNIQUE INDEX users_id_is_email_verified_key ON users (id, is_email_verified);
ALTER TABLE memberships
  ADD COLUMN is_email_verified boolean NOT NULL DEFAULT true,
  ADD CONSTRAINT memberships_email_verified CHECK (is_email_verified),
  DROP CONSTRAINT memberships_user_id_fkey,
  ADD CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id, is_email_verified)
    REFERENCES users (id, is_email_verified) ON DELETE RESTRICT ON UPDATE CASCADE;

-- New addresses are lower-cased in ASCII and contain nothing else, as normalizeEmail stores them. Of
-- the members of before, no row may be locked out of changes; `doctor` lists what differs.
ALTER TABLE users ADD CONSTRAINT users_email_ascii CHECK (
  (email = lower(email COLLATE "C") AND email ~ '^[\x21-\x7e]+$') OR email_verified_by IS NOT DISTINCT FROM 'migration'
) NOT VALID;
