-- The member who issued a token, and so answers for its permissions. Null: the operator issued it on
-- the command line, or the demo data did.
--
-- Locks: ACCESS EXCLUSIVE on tokens and SHARE ROW EXCLUSIVE on users, held for milliseconds. No row is
-- read or rewritten: the column has no default, so the foreign key needs no check of existing rows.
ALTER TABLE tokens ADD COLUMN issued_by uuid REFERENCES users (id);
