import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'

/** Statistics of 2,000 accounts with one charge each, which mislead the planner about what follows. */
export const ONE_CHARGE_EACH = `
  SET session_replication_role = replica;
  INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code, client_name,
      client_email, client_doc, expires_at, connection_id)
    SELECT id, id, 'test', 'pending', 1000, id, id, '-', '-', '-', '-', now(), '${SIMULATOR_CONNECTION_ID}'
    FROM generate_series(1, 2000) AS n, LATERAL (SELECT
      ('0180a000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id) given;
  INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
    SELECT id, connection_id, account_id, id FROM charges;
  ANALYZE;
  DELETE FROM booked_payments;
  DELETE FROM charges`

/**
 * SQL of many paid charges of one account, of which a tenth are refunded, and of a tenth as many withdrawals. The
 * ledger's tables get no statistics.
 */
export const historySql = (accountId: string, payments: number) => `
  SET session_replication_role = replica;
  INSERT INTO accounts (id, name) VALUES ('${accountId}', 'Padaria') ON CONFLICT DO NOTHING;
  DELETE FROM ledger_accounts WHERE account_id = '${accountId}';
  CREATE TEMPORARY TABLE given AS
    SELECT n, lpad(to_hex(n), 12, '0') AS hex FROM generate_series(1, ${payments}) AS n;
  INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code, client_name,
      client_email, client_doc, expires_at, paid_at, end_to_end_id, connection_id, refunded_amount)
    SELECT '${accountId}', ('0190a000-0000-7000-8000-' || hex)::uuid, 'test', 'paid', 1000, hex, hex,
      '-', '-', '-', '-', now(), now(), 'E' || hex, '${SIMULATOR_CONNECTION_ID}',
      CASE WHEN n % 10 = 1 THEN 400 ELSE 0 END FROM given;
  INSERT INTO refunds (account_id, id, charge_id, mode, status, amount, completed_at)
    SELECT account_id, ('0190a000-0000-7000-a000-' || external_id)::uuid, id, mode, 'completed',
      refunded_amount, now() FROM charges WHERE refunded_amount > 0;
  INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
    SELECT end_to_end_id, connection_id, account_id, id FROM charges;
  INSERT INTO withdrawals (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key,
      approved_at, connection_id)
    SELECT '${accountId}', ('0190a000-0000-7000-9000-' || hex)::uuid, 'test', 'approved', 1000, 'email',
      '-', '-', now(), '${SIMULATOR_CONNECTION_ID}' FROM given WHERE n % 10 = 0;
  INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount, connection_id)
    SELECT account_id, 'charge_paid', id, mode, 'external', 'available', amount, connection_id FROM charges
    UNION ALL
    SELECT account_id, 'withdrawal_held', id, mode, 'available', 'outbound', amount, NULL FROM withdrawals
    UNION ALL
    SELECT account_id, 'withdrawal_sent', id, mode, 'outbound', 'external', amount, connection_id
    FROM withdrawals
    UNION ALL
    SELECT account_id, 'refund_held', id, mode, 'available', 'outbound', amount, NULL FROM refunds
    UNION ALL
    SELECT account_id, 'refund_sent', id, mode, 'outbound', 'external', amount,
      '${SIMULATOR_CONNECTION_ID}' FROM refunds;
  INSERT INTO ledger_entries (account_id, mode, ledger, version, kind, subject_id, amount, balance_after)
    SELECT account_id, mode, ledger, row_number() OVER w, kind, subject_id, amount, sum(amount) OVER w
    FROM (SELECT account_id, mode, debit AS ledger, kind, subject_id, -amount AS amount
        FROM ledger_transfers
      UNION ALL
      SELECT account_id, mode, credit, kind, subject_id, amount FROM ledger_transfers) e
    WINDOW w AS (PARTITION BY ledger ORDER BY kind, subject_id);
  INSERT INTO ledger_accounts (account_id, mode, ledger, balance, version)
    SELECT '${accountId}', mode, ledger, COALESCE(sum(e.amount), 0), count(e.version)
    FROM unnest(ARRAY['test', 'live']) AS mode
    CROSS JOIN unnest(ARRAY['available', 'outbound', 'external']) AS ledger
    LEFT JOIN ledger_entries e USING (mode, ledger) GROUP BY mode, ledger`
