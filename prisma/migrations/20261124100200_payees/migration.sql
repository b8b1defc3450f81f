-- What a bank says about the receiver of a payout, and an end-to-end id that differs from the first one
-- that it reported for the same payout.
--
-- Locks: ACCESS EXCLUSIVE on one table, held for milliseconds once granted; the migrator waits two
-- seconds for it and tries again. No row is read or rewritten.
ALTER TABLE withdrawals
  ADD COLUMN payee_name text,
  ADD COLUMN payee_doc text,
  ADD COLUMN payee_bank text,
  ADD COLUMN other_end_to_end_id text;
