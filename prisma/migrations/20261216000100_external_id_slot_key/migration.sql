CREATE UNIQUE INDEX CONCURRENTLY charges_external_id_slot_key
  ON charges (account_id, mode, external_id, external_id_slot);
