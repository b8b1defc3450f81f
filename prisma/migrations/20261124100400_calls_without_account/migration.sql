-- Calls about a connection itself, such as its balance, are journaled too: they have neither account nor
-- mode nor subject. A process of the version before goes on writing calls about accounts.
--
-- Locks: ACCESS EXCLUSIVE on one table, held for milliseconds once granted; the migrator waits two
-- seconds for it and tries again. No row is read or rewritten: the index exists, and the CHECK is not
-- validated, because every row of before has an account.
ALTER TABLE gateway_calls
  DROP CONSTRAINT gateway_calls_pkey,
  ADD CONSTRAINT gateway_calls_pkey PRIMARY KEY USING INDEX gateway_calls_id_key,
  ALTER COLUMN account_id DROP NOT NULL,
  ALTER COLUMN mode DROP NOT NULL,
  ALTER COLUMN subject_id DROP NOT NULL,
  ADD CONSTRAINT gateway_calls_subject_complete CHECK (
    num_nulls(account_id, mode, subject_id) IN (0, 3)) NOT VALID;
