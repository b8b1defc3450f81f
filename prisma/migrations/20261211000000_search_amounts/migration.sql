-- Null until the worker has completed the row: lib/rooms/charges/index-charges.ts.
ALTER TABLE charge_searches ADD COLUMN amount bigint;
