import { log } from '#lib/base/log.ts'
import type { BankClient } from '#lib/services/gateway/api-pix/client.ts'
import { fieldsOf } from '#lib/services/gateway/api-pix/json.ts'
import {
  beginList,
  findNextPlace,
  narrowRefused,
  type Page,
  type Place,
} from '#lib/services/gateway/api-pix/list-place.ts'
import { judge, unknown } from '#lib/services/gateway/api-pix/outcomes.ts'
import type { BankProfile } from '#lib/services/gateway/api-pix/profiles.ts'
import { readPageInfo, readReceipts } from '#lib/services/gateway/api-pix/read.ts'
import { bodyOf, isSuccess } from '#lib/services/gateway/api-pix/reply.ts'
import type { GatewayResult, Receipt } from '#lib/services/gateway/gateway.ts'
import type { Listing } from '#lib/services/gateway/lists.ts'

/** A list that changes while it is read begins anew; this often, then at a later time. */
const RESTARTS_MAX = 5
/** Period of the list by which a connection is checked. */
const CHECKED_MS = 60_000

export interface ReceiptBank {
  client: BankClient
  profile: Pick<BankProfile, 'hasMilliseconds' | 'pageSize'>
}

type Filter = Record<string, string>

/** Lists payments by their time. A page may be empty although others follow. */
export async function listReceipts(
  bank: ReceiptBank,
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
  filter: Filter = {},
): Promise<GatewayResult<Listing<Receipt>>> {
  const place = readCursor(cursor) ?? beginList(since, new Date())
  const page = await readPage(bank, place, filter, signal)
  const refused = page.outcome === 'rejected' ? narrowRefused(place) : null
  if (refused) return { outcome: 'ok', value: { items: [], nextCursor: JSON.stringify(refused) } }
  if (page.outcome !== 'ok') return page
  const { items } = page.value
  const next = findNextPlace(place, page.value, bank.profile.pageSize)
  if (next && next.restarts > RESTARTS_MAX)
    return { outcome: 'retryable', reason: 'the list changes while it is read', isRateLimit: true }
  return { outcome: 'ok', value: { items, nextCursor: next && JSON.stringify(next) } }
}

/** Lists all payments of a txid. */
export async function findReceipts(
  bank: ReceiptBank,
  since: Date,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<Receipt[]>> {
  const found = new Map<string, Receipt>()
  for (let cursor: string | null = null; ; ) {
    const page: GatewayResult<Listing<Receipt>> = await listReceipts(bank, since, cursor, signal, {
      txid,
    })
    if (page.outcome !== 'ok') return page
    const { items, nextCursor } = page.value
    for (const item of items) if (item.txid === txid) found.set(item.endToEndId, item)
    if (nextCursor === null) return { outcome: 'ok', value: [...found.values()] }
    cursor = nextCursor
  }
}

/** Asks for one page, so that a refusal of the bank is its answer. */
export async function checkList(
  bank: ReceiptBank,
  signal: AbortSignal,
): Promise<GatewayResult<null>> {
  const place = beginList(new Date(Date.now() - CHECKED_MS), new Date())
  const page = await readPage(bank, place, {}, signal)
  return page.outcome === 'ok' ? { outcome: 'ok', value: null } : page
}

async function readPage(
  { client, profile }: ReceiptBank,
  { from, to, page }: Place,
  filter: Filter,
  signal: AbortSignal,
): Promise<GatewayResult<Page & { items: Receipt[] }>> {
  const time = (at: number) => formatTime(new Date(at), profile.hasMilliseconds)
  const query = {
    ...{ inicio: time(from), fim: time(to), ...filter },
    'paginacao.paginaAtual': String(page),
    'paginacao.itensPorPagina': String(profile.pageSize),
  }
  const reply = await client.call({ method: 'GET', path: '/pix', query }, signal)
  if (!isSuccess(reply)) {
    const verdict = judge(reply, 'question')
    return verdict.outcome === 'ask' || verdict.outcome === 'none' ? unknown('no list') : verdict
  }
  const { items, unreadable } = readReceipts(fieldsOf(bodyOf(reply)).pix)
  if (unreadable > 0) log().error({ unreadable, page }, 'unreadable payments in a list')
  const count = items.length + unreadable
  return { outcome: 'ok', value: { items, count, ...readPageInfo(bodyOf(reply)) } }
}

/** Without milliseconds, rounds down. */
function formatTime(at: Date, hasMilliseconds: boolean): string {
  const text = at.toISOString()
  return hasMilliseconds ? text : text.replace(/\.\d+Z$/, 'Z')
}

function readCursor(cursor: string | null): Place | null {
  return cursor === null ? null : (JSON.parse(cursor) as Place)
}
