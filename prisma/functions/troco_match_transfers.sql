-- version 2
-- Trigger of ledger_entries: refuses an entry that is not a side of a transfer, with its mode and amount, in a ledger of the
-- account. Neither can go away later: both tables refuse it. One look at all rows of a statement takes a fifth of the time of
-- two foreign keys, which lock and look up the referenced rows of each entry. The settings of troco_book pin the plan.
CREATE OR REPLACE FUNCTION troco_match_transfers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM new_rows n WHERE NOT EXISTS (
      SELECT FROM public.ledger_transfers t
      WHERE t.account_id = n.account_id AND t.kind = n.kind AND t.subject_id = n.subject_id AND t.mode = n.mode
        AND n.amount = CASE n.ledger WHEN t.debit THEN - t.amount WHEN t.credit THEN t.amount END))
    OR EXISTS (SELECT FROM (SELECT DISTINCT n.account_id, n.mode, n.ledger FROM new_rows n) n WHERE NOT EXISTS (
      SELECT FROM public.ledger_accounts l
      WHERE l.account_id = n.account_id AND l.mode = n.mode AND l.ledger = n.ledger)) THEN
    RAISE EXCEPTION 'an entry is not a side of its transfer, or its ledger does not exist'
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'ledger_entries_match_transfers';
  END IF;
  RETURN NULL;
END $$;
