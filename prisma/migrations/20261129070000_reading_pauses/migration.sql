-- Until when a bank wants no list of receipts, and whether a notice wants one. docs/decisions/043.
--
-- Locks: ACCESS EXCLUSIVE on receipt_readings, which has three rows per connection, for a moment.
ALTER TABLE receipt_readings
  ADD COLUMN paused_until timestamptz(6),
  ADD COLUMN is_wanted boolean NOT NULL DEFAULT false;
