-- version 1
-- Returns the key of the advisory lock on the books of an account in one mode: troco_book, troco_judge_withdrawals and
-- lib/ledger/owed.ts hold the lock until the end of their transaction. It queues its waiters fairly; a lock on
-- the rows alone would wake and race all of them at each release.
CREATE OR REPLACE FUNCTION troco_books_key(account_id uuid, mode text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT uuid_hash_extended(account_id, CASE mode WHEN 'live' THEN 1 ELSE 0 END)
$$;
