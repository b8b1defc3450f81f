import { payingConnectionSql, receivingConnectionSql } from '#lib/banks/assigned.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'

export interface CallerRow {
  accountId: string
  mode: Mode
  permissions: string[]
  name: string
  city: string
  expiresIn: number
  status: string
  /** Member who answers for the token; null: the operator issued it. */
  issuedBy: string | null
  /** Members who issued it before another one confirmed it, and so may know its value. */
  formerIssuers: string[]
  /** Addresses and ranges from which the token may be used; empty: any. */
  allowedAddresses: string[]
  /** Token that created this one, if any, and the addresses that it may be used from. */
  parentId: string | null
  parentAddresses: string[] | null
  /** Connections that a live token may use; null in test mode. */
  receivingConnectionId: string | null
  payingConnectionId: string | null
}

/** Columns of tokens `t` and accounts `a`, for the lookup and the proof of a remembered caller. */
export const CALLER_COLUMNS: Record<keyof CallerRow, { column: string; type: string }> = {
  accountId: { column: 'a.id', type: 'uuid' },
  mode: { column: 't.mode', type: 'text' },
  permissions: { column: 't.permissions', type: 'text[]' },
  name: { column: 'a.name', type: 'text' },
  city: { column: 'a.city', type: 'text' },
  expiresIn: { column: 'a.expires_in', type: 'int' },
  status: { column: 'a.status', type: 'text' },
  issuedBy: { column: 't.issued_by', type: 'uuid' },
  formerIssuers: { column: 't.former_issuers', type: 'uuid[]' },
  allowedAddresses: { column: 't.allowed_addresses', type: 'text[]' },
  parentId: { column: 't.parent_id', type: 'uuid' },
  parentAddresses: {
    column:
      '(SELECT p.allowed_addresses FROM tokens p WHERE p.account_id = t.account_id AND p.id = t.parent_id)',
    type: 'text[]',
  },
  receivingConnectionId: { column: ofLiveToken(receivingConnectionSql), type: 'uuid' },
  payingConnectionId: { column: ofLiveToken(payingConnectionSql), type: 'uuid' },
}

function ofLiveToken(sql: string): string {
  return `CASE WHEN t.mode = 'live' THEN ${sql} END`
}

const FIELDS = Object.keys(CALLER_COLUMNS) as (keyof CallerRow)[]
/** Always null for a test token, whose statements are spared them: each is a plan of its own. */
const LIVE_FIELDS: (keyof CallerRow)[] = ['receivingConnectionId', 'payingConnectionId']

export const callerColumns = Prisma.raw(
  FIELDS.map(field => `${CALLER_COLUMNS[field].column} AS "${field}"`).join(', '),
)

/** Condition that the caller is unchanged. Needs no index: the token's hash finds the row. */
export function unchangedCallerCondition(row: CallerRow): Prisma.Sql {
  const isCompared = (field: keyof CallerRow) =>
    (row.mode === 'live' || !LIVE_FIELDS.includes(field)) &&
    (row.parentId !== null || field !== 'parentAddresses')
  const conditions = FIELDS.filter(isCompared).map(field => {
    const { column, type } = CALLER_COLUMNS[field]
    return Prisma.sql`${Prisma.raw(column)} IS NOT DISTINCT FROM ${row[field]}::${Prisma.raw(type)}`
  })
  return Prisma.join(conditions, ' AND ')
}
