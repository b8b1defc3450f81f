-- The new key takes the place and the name of the old one, which earlier versions know it by.
--
-- Locks: ACCESS EXCLUSIVE on one table for a moment.
DROP INDEX charges_account_id_mode_external_id_key;
ALTER INDEX charges_external_id_slot_key RENAME TO charges_account_id_mode_external_id_key;
