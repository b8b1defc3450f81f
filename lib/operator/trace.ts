import { isUuid, removeHyphens } from '#lib/core/ids.ts'
import type { Trace } from '#lib/dashboard/schema.ts'
import { readRequestTraces, readTrace, type TraceScope } from '#lib/dashboard/trace.ts'
import { Prisma } from '#lib/db/client.ts'
import { isInBucket, queryRows, requestIdOf } from '#lib/db/sql.ts'

const ACCOUNTS_MAX = 20
const SAFE_ID = /^[\w.:-]{1,64}$/

/** Finds traces by the id of a request, charge, refund or withdrawal, in all accounts. */
export async function findTraces(text: string): Promise<Trace[]> {
  const id = text.trim()
  if (!SAFE_ID.test(id)) return []
  const [owner] = isUuid(id) ? await findOwners(id.toLowerCase()) : []
  if (owner) {
    const trace = await readTrace(owner, id.toLowerCase())
    return trace ? [trace] : []
  }
  const scopes = await findScopes(id)
  return (await Promise.all(scopes.map(scope => readRequestTraces(scope, id)))).flat()
}

function findOwners(id: string): Promise<TraceScope[]> {
  const order = (table: string) => Prisma.sql`
    SELECT s.account_id, s.mode FROM accounts a JOIN ${Prisma.raw(table)} s
      ON s.account_id = a.id AND s.id = ${id}::uuid
    WHERE ${isInBucket(id)}`
  return queryRows<TraceScope>(Prisma.sql`
    SELECT json_build_object('accountId', f.account_id, 'mode', f.mode)::text AS json FROM (
      SELECT c.account_id, c.mode FROM charges c WHERE c.txid = ${removeHyphens(id)}
      UNION ALL ${order('withdrawals')} UNION ALL ${order('refunds')}) f`)
}

function findScopes(requestId: string): Promise<TraceScope[]> {
  return queryRows<TraceScope>(Prisma.sql`
    SELECT DISTINCT jsonb_build_object('accountId', f.account_id, 'mode', f.mode)::text AS json FROM (
      (SELECT r.account_id, r.mode FROM request_log r WHERE r.request_id = ${requestId} LIMIT ${ACCOUNTS_MAX})
      UNION ALL
      (SELECT e.account_id, e.mode FROM events e
        WHERE e.trace IS NOT NULL AND ${requestIdOf('e')} = ${requestId}
        LIMIT ${ACCOUNTS_MAX})) f LIMIT ${ACCOUNTS_MAX}`)
}
