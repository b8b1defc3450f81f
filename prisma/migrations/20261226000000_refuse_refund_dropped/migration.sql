-- Nothing calls this function since refusals are raised as codes with parameters.
-- Requires 20261122030000_reason_codes
--
-- Locks: none on tables.
DROP FUNCTION troco_refuse_refund(text);
