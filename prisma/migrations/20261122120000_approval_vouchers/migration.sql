-- Who answers for a member with a new role that approves withdrawals: docs/decisions/025.
--
-- role_via: everyone who answered for the giver of the role at that time, the giver included. Null for
-- existing roles: role_by alone answers for them, for a day.
--
-- former_members: who answered for a member when the membership ended. Their tokens remain active.
--
-- Locks: ACCESS EXCLUSIVE on both tables for milliseconds each; no row is read or rewritten.
ALTER TABLE memberships ADD COLUMN role_via uuid[];
ALTER TABLE pending_memberships ADD COLUMN role_via uuid[];

CREATE TABLE former_members (
  account_id uuid NOT NULL,
  user_id uuid NOT NULL,
  vouchers uuid[],
  left_at timestamptz(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT former_members_vouchers CHECK (vouchers IS NOT NULL),
  CONSTRAINT former_members_pkey PRIMARY KEY (account_id, user_id),
  CONSTRAINT former_members_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
  CONSTRAINT former_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id)
);
