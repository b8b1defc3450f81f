-- The document of the receiver, as the caller of a withdrawal may give it: the bank then pays only a key
-- of that owner. The simulated bank can refuse with the reason that such a bank gives.
--
-- Locks: ACCESS EXCLUSIVE on two tables, held for milliseconds once granted; the migrator waits two
-- seconds for them and tries again. No row is read or rewritten: every row of before has no such
-- document, and reasons of the simulated bank are a part of those that the new CHECK allows.
ALTER TABLE withdrawals
  ADD COLUMN owner_doc text,
  ADD CONSTRAINT withdrawals_owner_doc_length
    CHECK (length(owner_doc) BETWEEN 11 AND 30) NOT VALID;

ALTER TABLE simulator_orders
  DROP CONSTRAINT simulator_orders_reason_code_known,
  ADD CONSTRAINT simulator_orders_reason_code_known
    CHECK (reason_code IN ('key_refused', 'owner_differs', 'simulated', 'unspecified')) NOT VALID;
