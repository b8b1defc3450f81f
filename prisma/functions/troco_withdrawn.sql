-- version 1
-- Returns the sum of the account's withdrawals of a mode and day that were not rejected, in cents. It locks the
-- books until the commit, as troco_book does, and is VOLATILE, so that the sum has a snapshot of its own: of two
-- withdrawals at once, the later one sees the other. Called by lib/withdrawals/approval.ts.
CREATE OR REPLACE FUNCTION troco_withdrawn(
  of_account uuid, in_mode text, day_began timestamptz, day_ends timestamptz, first_id uuid
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(troco_books_key(of_account, in_mode));
  RETURN (SELECT COALESCE(sum(w.amount), 0) FROM withdrawals w
    WHERE w.account_id = of_account AND w.id >= first_id AND w.mode = in_mode
      AND w.status <> 'rejected' AND w.created_at >= day_began AND w.created_at < day_ends);
END $$;
