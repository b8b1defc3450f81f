/**
 * One statement per operation; each statement authenticates the token. The CTE `caller` is the
 * account of a token with the permission; if `caller` is empty, the statement does nothing.
 */
import type { QueryConfig } from 'pg'

function callerCte(permission: string): string {
  return `caller AS (
    SELECT t.account_id, t.mode, a.name, a.city, a.expires_in
    FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE t.hash = $1 AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
      AND a.status = 'active' AND '${permission}' = ANY (t.permissions))`
}

function utc(column: string): string {
  const name = column.split('.').at(-1)
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ${name}`
}

const CHARGE_COLUMNS = `
  c.id, c.external_id, c.mode, c.status, c.amount, c.br_code, c.metadata, c.client_name,
  c.client_email, c.client_doc, c.client_phone, c.ip, c.items, c.utms, c.webhook_url,
  ${utc('c.expires_at')}, ${utc('c.paid_at')}, c.end_to_end_id, c.refunded_amount,
  ${utc('c.created_at')}, ${utc('c.updated_at')}`

/**
 * Reads the merchant data for BR codes. The server caches the data; CREATE_CHARGE checks that it is
 * current.
 */
export const READ_MERCHANT: QueryConfig = {
  name: 'read-merchant',
  text: `WITH ${callerCte('transactions:write')} SELECT name, city, expires_in FROM caller`,
}

export const CREATE_CHARGE: QueryConfig = {
  name: 'create-charge',
  text: `WITH ${callerCte('transactions:write')}
    INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
      client_name, client_email, client_doc, client_phone, webhook_url, webhook_host, ip, metadata, utms,
      items, expires_at, due_at)
    SELECT account_id, $2::uuid, mode, 'pending', $3::bigint, COALESCE($4, $5), $5, $6,
      $7, $8, $9, $10, $11::text, substring($11::text FROM '//([^:/]+)'), $12, $13::json, $14::json, $15::json,
      now() + make_interval(secs => COALESCE($16::int, expires_in)),
      now() + make_interval(secs => COALESCE($16::int, expires_in))
    FROM caller WHERE name = $17 AND city = $18`,
}

export const READ_CHARGE: QueryConfig = {
  name: 'read-charge',
  text: `WITH ${callerCte('transactions:read')}
    SELECT ${CHARGE_COLUMNS} FROM caller
    LEFT JOIN charges c ON c.account_id = caller.account_id AND c.mode = caller.mode
      AND c.id = $2::uuid AND c.status <> 'opening'`,
}

export const LIST_CHARGES: QueryConfig = {
  name: 'list-charges',
  text: `WITH ${callerCte('transactions:read')}
    SELECT ${CHARGE_COLUMNS} FROM caller
    LEFT JOIN LATERAL (
      SELECT * FROM charges
      WHERE account_id = caller.account_id AND mode = caller.mode AND status <> 'opening'
      ORDER BY id DESC LIMIT $2) c ON true
    ORDER BY c.id DESC`,
}

export const READ_ACCOUNT: QueryConfig = {
  name: 'read-account',
  text: `WITH ${callerCte('account:read')}
    SELECT caller.name, l.balance FROM caller
    JOIN ledger_accounts l ON l.account_id = caller.account_id AND l.mode = caller.mode
      AND l.ledger = 'available'`,
}

/** The credit reads from the debit, so that all writers lock the two rows in the same order. */
export const WITHDRAW: QueryConfig = {
  name: 'withdraw',
  text: `WITH ${callerCte('withdrawals:write')}, debited AS (
    UPDATE ledger_accounts l SET balance = l.balance - $3::bigint, version = l.version + 1
    FROM caller WHERE l.account_id = caller.account_id AND l.mode = caller.mode
      AND l.ledger = 'available' AND l.balance >= $3::bigint
    RETURNING l.account_id, l.mode, l.ledger, l.version, l.balance, -$3::bigint AS amount
  ), credited AS (
    UPDATE ledger_accounts l SET balance = l.balance + $3::bigint, version = l.version + 1
    FROM debited d WHERE l.account_id = d.account_id AND l.mode = d.mode
      AND l.ledger = 'outbound'
    RETURNING l.account_id, l.mode, l.ledger, l.version, l.balance, $3::bigint AS amount
  ), transferred AS (
    INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount)
    SELECT account_id, 'withdrawal_held', $2::uuid, mode, 'available', 'outbound', $3::bigint
    FROM debited
  ), entered AS (
    INSERT INTO ledger_entries
      (account_id, mode, ledger, version, kind, subject_id, amount, balance_after)
    SELECT account_id, mode, ledger, version, 'withdrawal_held', $2::uuid, amount, balance
    FROM (SELECT * FROM debited UNION ALL SELECT * FROM credited) both_sides
  ), made AS (
    INSERT INTO withdrawals
      (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key, webhook_url, webhook_host)
    SELECT account_id, $2::uuid, mode, 'pending', $3::bigint, $4, $5, $6, $7::text,
      substring($7::text FROM '//([^:/]+)') FROM debited
    RETURNING account_id, id, mode, connection_id, amount, dict_key, created_at
  ), ordered AS (
    INSERT INTO bank_orders (account_id, id, kind, operation, mode, connection_id, amount, target, state, due_at)
    SELECT account_id, id, 'withdrawal', 'payout', mode, connection_id, amount, dict_key, 'waiting', now() FROM made
  )
  SELECT ${utc('made.created_at')} FROM caller LEFT JOIN made ON true`,
}
