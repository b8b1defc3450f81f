import { type AuditFlaw, decodeFlaw } from '#lib/audit/flaws.ts'
import { resultText, signatureAge } from '#lib/audit/links.ts'
import { db } from '#lib/db/client.ts'
import type { Finding } from '#lib/operator/schema.ts'

/** Twice the interval of the checks (one day): a chain checked longer ago is a warning. */
const UNCHECKED_AFTER_S = 2 * 86_400
/** Twice the age at which a record must have been linked. */
const QUEUED_AFTER_S = 1_200
const FLAWS_SHOWN_MAX = 5

interface StoredResult {
  chain: string
  length: number
  checkedAtMs: number | null
  wrong: string | null
  mac: string | null
  /** Seconds since the last check; since the beginning of a chain without one. */
  ageS: number
}

/** Trusts only signed results: the role of the application can write to the table. */
export async function examineAuditLog(): Promise<Finding> {
  const results = await db().$queryRaw<StoredResult[]>`
    SELECT chain, length::float8 AS length, wrong, encode(checked_mac, 'hex') AS mac,
      round(extract(epoch FROM checked) * 1000)::float8 AS "checkedAtMs",
      extract(epoch FROM now() - COALESCE(checked, created_at))::float8 AS "ageS"
    FROM (SELECT *, CASE WHEN isfinite(checked_at) THEN checked_at END AS checked FROM audit_chains) k`
  const [queue] = await db().$queryRaw<{ records: number; waitS: number }[]>`
    SELECT count(*)::int AS records,
      COALESCE(extract(epoch FROM now() - min(r.created_at)), 0)::int AS "waitS"
    FROM audit_unlinked q JOIN audit_log r ON r.id = q.record_id`
  const flaws = results.map(findFlaw).filter(flaw => flaw !== null)
  const figures = {
    // The longest is the total.
    links: Math.max(0, ...results.map(({ length }) => length)),
    waits_s: Math.round(Math.max(0, ...results.map(({ ageS }) => Math.abs(ageS)))),
    ...{ queued: queue?.records ?? 0, queue_s: queue?.waitS ?? 0 },
  }
  if (flaws.length > 0) {
    const shown = flaws.slice(0, FLAWS_SHOWN_MAX)
    return { level: 'problem', state: 'audit_wrong', figures, flaws: shown }
  }
  if (figures.queue_s > QUEUED_AFTER_S)
    return { level: 'warning', state: 'audit_unlinked', figures }
  return figures.waits_s > UNCHECKED_AFTER_S
    ? { level: 'warning', state: 'audit_unchecked', figures }
    : { level: 'ok', state: 'audit_right', figures }
}

function findFlaw({ chain, checkedAtMs, wrong, mac }: StoredResult): AuditFlaw | null {
  if (wrong) return decodeFlaw(wrong, chain)
  if (checkedAtMs === null) return null
  const isSigned = mac !== null && signatureAge(resultText(chain, checkedAtMs, null), mac) !== null
  return isSigned ? null : { code: 'result_changed', params: { chain } }
}
