-- For a search by amount, and for the rows that the worker completes.
CREATE INDEX CONCURRENTLY charge_searches_account_id_mode_amount_id_idx
  ON charge_searches (account_id, mode, amount, id);
