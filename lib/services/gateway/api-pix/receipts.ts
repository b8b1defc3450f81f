import { log } from '#lib/base/log.ts'
import type { BankClient } from '#lib/services/gateway/api-pix/client.ts'
import { fieldsOf } from '#lib/services/gateway/api-pix/json.ts'
import { judge, unknown } from '#lib/services/gateway/api-pix/outcomes.ts'
import type { BankProfile } from '#lib/services/gateway/api-pix/profiles.ts'
import { readPageInfo, readReceipts } from '#lib/services/gateway/api-pix/read.ts'
import { bodyOf, isSuccess } from '#lib/services/gateway/api-pix/reply.ts'
import type { GatewayResult, Listing, Receipt } from '#lib/services/gateway/gateway.ts'

/** A list that changes while it is read begins anew; this often, then at a later time. */
const RESTARTS_MAX = 5

/** Place in a list: it ends at a fixed time, and pages have numbers. */
interface Cursor {
  until: string
  page: number
  /** Items of the list when its first page was read. */
  total: number | null
  restarts: number
}

export interface ReceiptBank {
  client: BankClient
  profile: Pick<BankProfile, 'hasMilliseconds' | 'pageSize'>
}

/**
 * Lists payments by their time. A payment that arrives late in the bank's list moves others to the
 * page before: then the list is read again from its first page.
 */
export async function listReceipts(
  { client, profile }: ReceiptBank,
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
  filter: Record<string, string> = {},
): Promise<GatewayResult<Listing<Receipt>>> {
  const time = (at: Date) => formatTime(at, profile.hasMilliseconds)
  const place = readCursor(cursor) ?? { until: time(new Date()), page: 0, total: null, restarts: 0 }
  const query = {
    ...{ inicio: time(since), fim: place.until, ...filter },
    'paginacao.paginaAtual': String(place.page),
    'paginacao.itensPorPagina': String(profile.pageSize),
  }
  const reply = await client.call({ method: 'GET', path: '/pix', query }, signal)
  if (!isSuccess(reply)) {
    const verdict = judge(reply, 'question')
    return verdict.outcome === 'ask' || verdict.outcome === 'none' ? unknown('no list') : verdict
  }
  const { items, unreadable } = readReceipts(fieldsOf(bodyOf(reply)).pix)
  if (unreadable > 0) log().error({ unreadable, page: place.page }, 'unreadable payments in a list')
  const count = items.length + unreadable
  const next = findNext(place, count, profile.pageSize, readPageInfo(bodyOf(reply)))
  if (next && next.restarts > RESTARTS_MAX)
    return { outcome: 'retryable', reason: 'the list changes while it is read', isRateLimit: true }
  return { outcome: 'ok', value: { items, nextCursor: next && JSON.stringify(next) } }
}

function findNext(
  { until, page, total: firstTotal, restarts }: Cursor,
  count: number,
  pageSize: number,
  { pages, total }: { pages: number | null; total: number | null },
): Cursor | null {
  if (page > 0 && total !== firstTotal) return { until, page: 0, total, restarts: restarts + 1 }
  const isLast = pages === null ? count < pageSize : page + 1 >= pages
  return isLast ? null : { until, page: page + 1, total, restarts }
}

/** Without milliseconds, rounds down. */
function formatTime(at: Date, hasMilliseconds: boolean): string {
  const text = at.toISOString()
  return hasMilliseconds ? text : text.replace(/\.\d+Z$/, 'Z')
}

function readCursor(cursor: string | null): Cursor | null {
  return cursor === null ? null : (JSON.parse(cursor) as Cursor)
}
