import type { Mode } from '#lib/core/mode.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import { accountSubjects } from '#lib/operator/accounts.ts'
import type { Finding } from '#lib/operator/schema.ts'
import type { ResolveName } from '#lib/webhooks/target.ts'
import { findTarget } from '#lib/webhooks/target.ts'

/** Endpoints examined at most, newest first: each distinct host costs a DNS query. */
const ENDPOINTS_READ_MAX = 500
const NAMES_MAX = 5
/** The page reads its checks every few seconds; DNS is asked less often. */
const CACHE_MS = 5 * 60_000
/** Time for all queries; those that respond later are in the next result. */
const TIMEOUT_MS = 2_000

interface EndpointRow {
  account_id: string
  account: string
  mode: Mode
  url: string
}

/** Whether an origin is refused, by mode and origin; null while a query runs. */
const verdicts = new Map<string, { until: number; isRefused: boolean | null }>()

/** Finds enabled endpoints whose address is refused, for example since a setting has changed. */
export async function examineEndpoints(resolve?: ResolveName): Promise<Finding> {
  const endpoints = await queryRows<EndpointRow>(Prisma.sql`
    SELECT json_build_object('account_id', a.id, 'account', a.name, 'mode', p.mode, 'url', p.url)::text AS json
    FROM (SELECT * FROM webhook_endpoints WHERE deleted_at IS NULL AND disabled_at IS NULL
      ORDER BY created_at DESC LIMIT ${ENDPOINTS_READ_MAX}) p
    JOIN accounts a ON a.id = p.account_id`)
  const current = new Set(endpoints.map(keyOf))
  for (const key of verdicts.keys()) if (!current.has(key)) verdicts.delete(key)
  const timeout = new Promise(done => setTimeout(done, TIMEOUT_MS).unref())
  const work = Promise.all(endpoints.map(endpoint => refreshVerdict(endpoint, resolve)))
  await Promise.race([work, timeout])
  const refused = endpoints.filter(endpoint => verdicts.get(keyOf(endpoint))?.isRefused)
  if (refused.length === 0) return { level: 'ok', state: 'endpoints_allowed', figures: {} }
  // The path of a URL may contain a secret.
  const named = refused.slice(0, NAMES_MAX)
  const names = named.map(({ account, url }) => `${account} (${new URL(url).origin})`)
  const figures = { refused: refused.length, names: names.join(', ') }
  const subjects = accountSubjects(
    named.map(({ account_id, account }) => ({ id: account_id, name: account })),
  )
  return { level: 'warning', state: 'endpoints_refused', figures, subjects }
}

async function refreshVerdict(endpoint: EndpointRow, resolve?: ResolveName): Promise<void> {
  const key = keyOf(endpoint)
  const known = verdicts.get(key)
  if (known && performance.now() < known.until) return
  const verdict = { until: performance.now() + CACHE_MS, isRefused: known?.isRefused ?? null }
  verdicts.set(key, verdict)
  const found = await findTarget(endpoint.url, endpoint.mode, resolve)
  verdict.isRefused = 'problem' in found && found.isAddressRefused
}

function keyOf({ mode, url }: EndpointRow): string {
  return `${mode} ${new URL(url).origin}`
}
