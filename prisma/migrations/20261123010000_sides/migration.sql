-- No key from tables of money to tables of people or back: docs/decisions/030. They will lie in
-- different databases. Ids of users and accounts stay in their columns.
--
-- Locks: ACCESS EXCLUSIVE on seven tables for milliseconds; no row is read or rewritten.
ALTER TABLE memberships DROP CONSTRAINT memberships_account_id_fkey;
ALTER TABLE pending_memberships DROP CONSTRAINT pending_memberships_account_id_fkey;
ALTER TABLE former_members DROP CONSTRAINT former_members_account_id_fkey;
ALTER TABLE invitations DROP CONSTRAINT invitations_account_id_fkey;
ALTER TABLE approval_changes DROP CONSTRAINT approval_changes_requested_by_fkey;
ALTER TABLE tokens DROP CONSTRAINT tokens_revoked_by_fkey, DROP CONSTRAINT tokens_issued_by_fkey;
