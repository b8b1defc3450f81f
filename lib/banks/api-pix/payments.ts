import type { BankClient } from '#lib/banks/api-pix/client.ts'
import { fieldsOf } from '#lib/banks/api-pix/json.ts'
import {
  beginList,
  findNextPosition,
  findRetryPosition,
  isLongWindow,
  narrowRefused,
  type Page,
  type Position,
} from '#lib/banks/api-pix/list-position.ts'
import { judge, judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import type { BankProfile } from '#lib/banks/api-pix/profiles.ts'
import { readPageInfo, readPayments } from '#lib/banks/api-pix/read.ts'
import { bodyOf, isSuccess } from '#lib/banks/api-pix/reply.ts'
import type { GatewayResult, ReceivedPayment } from '#lib/banks/gateway.ts'
import type { Listing, UnreadPayment } from '#lib/banks/lists.ts'
import { log } from '#lib/core/log.ts'

/** A list that changes while it is read begins anew; this often, then at a later time. */
const RESTARTS_MAX = 5
/** Time for a page: below the 10 s after which the journal ends the call without its position. */
const PAGE_MAX_MS = 9_000
/** Returned payments are few: a bank that wants shorter periods refuses this one. */
const RETURNED_WINDOW_MS = 30 * 86_400_000
/** Period of the list by which a connection is checked. */
const CHECKED_MS = 60_000

export interface ListBank {
  client: BankClient
  profile: Pick<BankProfile, 'hasMilliseconds' | 'pageSize'>
}

/** A list of a bank whose periods and pages are those of the standard. */
export interface BankList<Item> {
  path: string
  filter?: Record<string, string>
  /** Longest period that is tried; default: a day. */
  windowMs?: number
  /** `count`: entries of the page, with those that are left out or unreadable. */
  read: (body: unknown) => Entries<Item>
}

interface Entries<Item> {
  items: Item[]
  count: number
  unreadable: number
  unread?: UnreadPayment[]
}

const PAYMENTS: BankList<ReceivedPayment> = {
  path: '/pix',
  read(body) {
    const { items, unread } = readPayments(fieldsOf(body).pix)
    return { items, unread, unreadable: unread.length, count: items.length + unread.length }
  },
}

/** Lists payments by their time. A page may be empty although others follow. */
export function listPayments(
  bank: ListBank,
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
  filter: Record<string, string> = {},
): Promise<GatewayResult<Listing<ReceivedPayment>>> {
  return listEntries(bank, { ...PAYMENTS, filter }, since, cursor, signal)
}

/** Lists payments of which something has gone back, by the time of the payment. */
export function listReturnedPayments(
  bank: ListBank,
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
): Promise<GatewayResult<Listing<ReceivedPayment>>> {
  const returned = {
    ...PAYMENTS,
    filter: { devolucaoPresente: 'true' },
    windowMs: RETURNED_WINDOW_MS,
  }
  return listEntries(bank, returned, since, cursor, signal)
}

/** Finds a payment by its end-to-end id. */
export async function findPayment(
  { client }: ListBank,
  endToEndId: string,
  signal: AbortSignal,
): Promise<GatewayResult<ReceivedPayment | null>> {
  const path = `/pix/${encodeURIComponent(endToEndId)}`
  const reply = await client.call({ method: 'GET', path }, signal)
  if (!isSuccess(reply)) {
    const verdict = judge(reply, 'question')
    if (verdict.outcome === 'none') return { outcome: 'ok', value: null }
    return verdict.outcome === 'ask' ? verdict.ifAbsent : verdict
  }
  const [value] = readPayments([bodyOf(reply)]).items
  if (value?.endToEndId !== endToEndId) return unknown('a response about another payment')
  return { outcome: 'ok', value }
}

export async function listEntries<Item>(
  bank: ListBank,
  list: BankList<Item>,
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
): Promise<GatewayResult<Listing<Item>>> {
  const position = readCursor(cursor) ?? beginList(since, new Date(), list.windowMs)
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(PAGE_MAX_MS)])
  const page = await readPage(bank, list, position, inTime)
  if (page.outcome !== 'ok') return goOn(page, position)
  const { items, unread } = page.value
  const next = findNextPosition(position, page.value, bank.profile.pageSize)
  if (next && next.restarts > RESTARTS_MAX)
    return { outcome: 'retryable', reason: 'the list changes while it is read', isAnswered: true }
  const nextCursor = next && JSON.stringify(next)
  return { outcome: 'ok', value: { items, nextCursor, ...(unread?.length && { unread }) } }
}

/** Returns a failure with the position after it, or no items and the position at which to go on at once. */
function goOn(failure: GatewayResult<never>, position: Position): GatewayResult<Listing<never>> {
  const isRefused = failure.outcome === 'rejected'
  if (!isRefused && failure.outcome !== 'unknown') return failure
  const next = isRefused ? narrowRefused(position) : findRetryPosition(position)
  if (next === null) return failure
  const cursor = JSON.stringify(next)
  if (isRefused || isLongWindow(position))
    return { outcome: 'ok', value: { items: [], nextCursor: cursor } }
  return { ...failure, retryCursor: cursor }
}

/** Lists all payments of a txid. `isUnread`: there are some that cannot be read. */
export async function findPayments(
  bank: ListBank,
  since: Date,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<{ payments: ReceivedPayment[]; isUnread: boolean }>> {
  const found = new Map<string, ReceivedPayment>()
  let isUnread = false
  for (let cursor: string | null = null; ; ) {
    const page: GatewayResult<Listing<ReceivedPayment>> = await listPayments(
      bank,
      since,
      cursor,
      signal,
      {
        txid,
      },
    )
    if (page.outcome !== 'ok') return page
    const { items, unread = [], nextCursor } = page.value
    isUnread ||= unread.some(each => each.txid === txid)
    for (const item of items) if (item.txid === txid) found.set(item.endToEndId, item)
    if (nextCursor === null)
      return { outcome: 'ok', value: { payments: [...found.values()], isUnread } }
    cursor = nextCursor
  }
}

/** Asks for one page, so that a refusal of the bank is its answer. */
export async function checkList(
  bank: ListBank,
  signal: AbortSignal,
  list: BankList<unknown> = PAYMENTS,
): Promise<GatewayResult<null>> {
  const position = beginList(new Date(Date.now() - CHECKED_MS), new Date())
  const page = await readPage(bank, list, position, signal)
  return page.outcome === 'ok' ? { outcome: 'ok', value: null } : page
}

async function readPage<Item>(
  { client, profile }: ListBank,
  { path, filter, read }: BankList<Item>,
  { from, to, page }: Position,
  signal: AbortSignal,
): Promise<GatewayResult<Page & Entries<Item>>> {
  const time = (at: number) => formatTime(new Date(at), profile.hasMilliseconds)
  const query = {
    ...{ inicio: time(from), fim: time(to), ...filter },
    'paginacao.paginaAtual': String(page),
    'paginacao.itensPorPagina': String(profile.pageSize),
  }
  const reply = await client.call({ method: 'GET', path, query }, signal)
  if (!isSuccess(reply)) return judgeQuestion(reply, 'no list')
  if (!isList(bodyOf(reply))) return unknown('a response without a list')
  const entries = read(bodyOf(reply))
  const { unreadable } = entries
  if (unreadable > 0) log().error({ path, unreadable, page }, 'unreadable entries in a list')
  return { outcome: 'ok', value: { ...entries, ...readPageInfo(bodyOf(reply)) } }
}

/** Some banks omit the list, or the description of its pages, if it is empty; none omits both. */
function isList(body: unknown): boolean {
  const { parametros, pix, infracoes } = fieldsOf(body)
  return Object.keys(fieldsOf(parametros)).length > 0 || [pix, infracoes].some(Array.isArray)
}

/** Without milliseconds, rounds down. */
function formatTime(at: Date, hasMilliseconds: boolean): string {
  const text = at.toISOString()
  return hasMilliseconds ? text : text.replace(/\.\d+Z$/, 'Z')
}

function readCursor(cursor: string | null): Position | null {
  return cursor === null ? null : (JSON.parse(cursor) as Position)
}
