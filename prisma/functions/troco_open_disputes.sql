-- version 1
-- Creates the ledgers of disputes of an account, if they are missing. Called by lib/ledger/owed.ts.
CREATE OR REPLACE FUNCTION troco_open_disputes(of_account uuid, of_mode text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  INSERT INTO public.ledger_accounts (account_id, mode, ledger)
  VALUES (of_account, of_mode, 'disputed'), (of_account, of_mode, 'owed') ON CONFLICT DO NOTHING;
$$;
