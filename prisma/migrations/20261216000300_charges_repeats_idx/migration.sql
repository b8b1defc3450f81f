-- Whether an account has repetitions, without which the setting can be switched off. Others do not write it.
CREATE INDEX CONCURRENTLY charges_repeats_idx ON charges (account_id, mode) WHERE external_id_slot IS NULL;
