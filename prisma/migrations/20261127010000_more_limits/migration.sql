-- Limits per calendar day in Sao Paulo: of an account's withdrawals, and of the payouts through a
-- connection; and the maximum of one payout through a connection. Null is no limit.
--
-- Locks: ACCESS EXCLUSIVE on two tables, held for milliseconds once granted; the migrator waits two
-- seconds for them and tries again. No row is read or rewritten, and every row of before is null.
ALTER TABLE accounts
  ADD COLUMN day_max bigint,
  ADD CONSTRAINT accounts_day_max_range CHECK (day_max BETWEEN 0 AND 999999999999) NOT VALID;

ALTER TABLE connections
  ADD COLUMN payout_max bigint,
  ADD COLUMN payout_day_max bigint,
  ADD CONSTRAINT connections_payout_max_range
    CHECK (payout_max BETWEEN 1 AND 999999999999) NOT VALID,
  ADD CONSTRAINT connections_payout_day_max_range
    CHECK (payout_day_max BETWEEN 0 AND 999999999999) NOT VALID;
