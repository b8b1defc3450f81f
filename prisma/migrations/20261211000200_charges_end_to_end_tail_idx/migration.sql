-- For a search by the last characters of an end-to-end id. Creating a charge does not write it.
CREATE INDEX CONCURRENTLY charges_end_to_end_tail_idx
  ON charges (account_id, mode, upper(reverse(end_to_end_id)) COLLATE "C")
  WHERE end_to_end_id IS NOT NULL;
