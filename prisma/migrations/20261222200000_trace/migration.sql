-- The API request that caused a row, with its trace: lib/base/trace.ts. Null: a job did, as after a bank's
-- notice. A withdrawal and a refund pass it on to their events, which a worker records.
--
-- Locks: ACCESS EXCLUSIVE on each table for a moment; none is rewritten or read.
ALTER TABLE events ADD COLUMN trace text;
ALTER TABLE withdrawals ADD COLUMN trace text;
ALTER TABLE refunds ADD COLUMN trace text;
