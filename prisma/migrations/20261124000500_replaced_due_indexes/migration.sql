-- Replaced by the three indexes before. A process of the version before reads withdrawals_due_idx and
-- refunds_due_idx instead, and for due charges all of charges_connection_due_idx, until it ends.
--
-- Locks: ACCESS EXCLUSIVE on three tables, for milliseconds.
DROP INDEX charges_due_idx;
DROP INDEX withdrawals_turn_idx;
DROP INDEX refunds_turn_idx;
