-- version 1
-- Returns whether a transfer of an account may have this kind and these sides, as lib/ledger/book.ts
-- lists them. PostgreSQL parses the text of a CHECK in each statement, but a PL/pgSQL function once per session.
-- Kept for the CHECK ledger_transfers_kind_known.
CREATE OR REPLACE FUNCTION troco_is_movement(account_id uuid, kind text, debit text, credit text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF account_id = '00000000-0000-7000-8000-000000000002' THEN
    RETURN kind || ' ' || debit || ' ' || credit = ANY (ARRAY[
      'unmatched_received external unmatched', 'unmatched_released unmatched external',
      'unmatched_kept unmatched own', 'fee_paid own external', 'fee_returned external own',
      'write_off_paid own external', 'unmatched_payment_returned unmatched external',
      'own_payment_returned own external', 'corrected external own',
      'corrected own external']);
  END IF;
  RETURN kind || ' ' || debit || ' ' || credit = ANY (ARRAY[
    'charge_paid external available', 'withdrawal_held available outbound',
    'withdrawal_sent outbound external', 'withdrawal_returned outbound available',
    'refund_held available outbound', 'refund_sent outbound external',
    'refund_returned outbound available', 'payout_returned external available',
    'unmatched_credited external available', 'dispute_held available disputed',
    'dispute_owed owed disputed', 'dispute_won disputed available',
    'dispute_lost disputed external', 'owed_repaid available owed',
    'owed_written_off external owed', 'payment_returned available external',
    'payment_return_owed owed external', 'correction_owed owed external',
    'corrected external available', 'corrected available external']);
END $$;
