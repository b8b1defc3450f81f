-- version 1
-- Creates the ledgers and event sequences of a new account, with a balance and a number of 0, because the application
-- may not write these tables. Called by lib/ledger/book.ts.
CREATE OR REPLACE FUNCTION troco_open_books(of_account uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO public.ledger_accounts (account_id, mode, ledger)
  SELECT of_account, m.mode, l.ledger FROM (VALUES ('test'), ('live')) AS m (mode)
  CROSS JOIN (VALUES ('available'), ('outbound'), ('external')) AS l (ledger);
  INSERT INTO public.event_sequences (account_id, mode) VALUES (of_account, 'test'), (of_account, 'live');
$$;
