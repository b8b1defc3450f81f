import type { BankClient } from '#lib/banks/api-pix/client.ts'
import {
  bodyOf,
  centsOf,
  elementsOf,
  type Fields,
  fieldsOf,
  isSuccess,
  textOf,
  timeOf,
} from '#lib/banks/api-pix/json.ts'
import { judge, judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import type { BankProfile } from '#lib/banks/api-pix/profiles.ts'
import { readPageInfo, readPayments } from '#lib/banks/api-pix/read.ts'
import type {
  GatewayResult,
  Listing,
  ReceivedPayment,
  TakenOrder,
  UnreadPayment,
} from '#lib/banks/gateway.ts'
import { log } from '#lib/core/log.ts'

/** A list that changes while it is read begins anew; this often, then at a later time. */
const RESTARTS_MAX = 5
/** Time for a page: below the 10 s after which the journal ends the call without its position. */
const PAGE_MAX_MS = 9_000
/** Returned payments are few: a bank that wants shorter periods refuses this one. */
const RETURNED_WINDOW_MS = 30 * 86_400_000
/** Period of the list by which a connection is checked. */
const CHECKED_MS = 60_000

interface ListBank {
  client: BankClient
  profile: Pick<BankProfile, 'hasMilliseconds' | 'pageSize'>
}

/** A list of a bank whose periods and pages are those of the standard. */
export interface ListSource<Item> {
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

const PAYMENTS: ListSource<ReceivedPayment> = {
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
  list: ListSource<Item>,
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
  list: ListSource<unknown> = PAYMENTS,
): Promise<GatewayResult<null>> {
  const position = beginList(new Date(Date.now() - CHECKED_MS), new Date())
  const page = await readPage(bank, list, position, signal)
  return page.outcome === 'ok' ? { outcome: 'ok', value: null } : page
}

async function readPage<Item>(
  { client, profile }: ListBank,
  { path, filter, read }: ListSource<Item>,
  { from, to, page }: Position,
  signal: AbortSignal,
): Promise<GatewayResult<Page & Entries<Item>>> {
  const time = (at: number) => formatTime(new Date(at), profile.hasMilliseconds)
  const query = {
    inicio: time(from),
    fim: time(to),
    ...filter,
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

/** Longest period of one list: banks refuse longer ones, each from a limit of its own on. */
const WINDOW_MAX_MS = 86_400_000
/** Shortest period that is tried: times of queries may have whole seconds only. */
const WINDOW_MIN_MS = 1_000
/**
 * Shortest limit of later windows after failures: the cause may be an outage, and a list of 48 hours
 * in windows of seconds takes days.
 */
const FAILED_WINDOW_MIN_MS = 15 * 60_000

/** Most pages of a window: a bank may report pages without end, or show the same one for each number. */
const PAGES_MAX = 500

/**
 * Position in a list of payments, which ends at a fixed time. It is read in windows, from its beginning
 * on; a time at which one ends is in the next one, too.
 */
export interface Position {
  until: number
  from: number
  to: number
  /** Longest window that the bank has not refused yet. */
  windowMs: number
  page: number
  /** Items of the window when its first page was read. */
  total: number | null
  /** Items of the pages before. */
  seen: number
  /** How often the window was begun anew. */
  restarts: number
  /** The last call at this position failed, and no page was read since. */
  hasFailed?: boolean
}

/** A page as the bank describes it; null is what it does not report. */
interface Page {
  count: number
  pages: number | null
  total: number | null
}

export function beginList(since: Date, until: Date, windowMs = WINDOW_MAX_MS): Position {
  const from = Math.min(since.getTime(), until.getTime())
  return openWindow({ until: until.getTime(), windowMs }, from, windowMs)
}

/**
 * Returns the position after a page; null after the last one. A payment that arrives late in the list moves
 * others to the page before: then the window is read again. One with more payments than the bank shows
 * on its pages, or with too many pages, is read in halves. An empty page is the last one.
 */
export function findNextPosition(
  position: Position,
  page: Page,
  pageSize: number,
): Position | null {
  const { page: number, total, restarts } = position
  if (number > 0 && page.total !== total)
    return {
      ...openWindow(position, position.from, position.to - position.from),
      restarts: restarts + 1,
    }
  const seen = position.seen + page.count
  if (seen === 0) return findNextWindow(position)
  const isFull = page.pages === null ? page.count >= pageSize : number + 1 < page.pages
  const isEndless = (page.pages ?? 0) > PAGES_MAX || (isFull && number + 1 >= PAGES_MAX)
  const shorter = isEndless ? narrow(position) : null
  if (shorter) return shorter
  if (isFull && page.count > 0 && number + 1 < PAGES_MAX)
    return { ...position, page: number + 1, total: page.total, seen, hasFailed: false }
  const half = page.total !== null && seen < page.total ? narrow(position) : null
  return half ?? findNextWindow(position)
}

/**
 * Returns the position from which a list is read on that the bank refused: a shorter window. Null if the
 * window is short enough. A bank that refuses a first page refuses its period, another the page's number.
 */
export function narrowRefused(position: Position): Position | null {
  const half = narrow(position)
  return half && position.page === 0 ? { ...half, windowMs: half.to - half.from } : half
}

/**
 * Returns the position at which a list is to be read on that failed: the same one, and from the second
 * failure in a row a shorter window, because banks time out on long periods. Null if it is short enough.
 */
function findRetryPosition(position: Position): Position | null {
  const isLong = isLongWindow(position)
  if (!position.hasFailed && !isLong) return { ...position, hasFailed: true }
  const half = narrow(position)
  if (!half) return null
  const limitMs = Math.max(half.to - half.from, FAILED_WINDOW_MIN_MS)
  return { ...half, windowMs: Math.min(position.windowMs, limitMs), hasFailed: !isLong }
}

/** Whether a list is narrowed at its first failure: a few calls lead to a day. */
function isLongWindow({ from, to }: Position): boolean {
  return to - from > WINDOW_MAX_MS
}

function narrow({ from, to, ...position }: Position): Position | null {
  const halfMs = Math.ceil((to - from) / 2)
  return halfMs < WINDOW_MIN_MS ? null : openWindow(position, from, halfMs)
}

/** A window after a narrow one is twice as long: what filled that one is over, or fills this one too. */
function findNextWindow(position: Position): Position | null {
  const { from, to, until } = position
  return to >= until ? null : openWindow(position, to, 2 * (to - from))
}

function openWindow(
  { until, windowMs }: Pick<Position, 'until' | 'windowMs'>,
  from: number,
  lengthMs: number,
): Position {
  const to = Math.min(from + Math.min(lengthMs, windowMs), until)
  return { until, from, to, windowMs, page: 0, total: null, seen: 0, restarts: 0 }
}

/** Ids of orders of Troco. */
export const OWN_ID_PATTERN = /^[0-9a-f]{32}$/
/** Age up to which a payment may be given back, by the rules of PIX; and a margin. */
const REFUNDABLE_MS = 91 * 86_400_000
/** Longest period that is tried: a bank that wants shorter ones refuses this one. */
const WINDOW_MS = 30 * 86_400_000

/** Lists refunds by their payments, whose time is the only one by which banks list. */
export function listTakenRefunds(
  bank: ListBank,
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
): Promise<GatewayResult<Listing<TakenOrder>>> {
  const list = {
    path: '/pix',
    filter: { devolucaoPresente: 'true' },
    windowMs: WINDOW_MS,
    read: (body: unknown) => readRefunds(body, since),
  }
  const paidSince = new Date(since.getTime() - REFUNDABLE_MS)
  return listEntries(bank, list, paidSince, cursor, signal)
}

function readRefunds(body: unknown, since: Date) {
  const payments = elementsOf(fieldsOf(body).pix).map(fieldsOf)
  const items: TakenOrder[] = []
  const unread: UnreadPayment[] = []
  for (const payment of payments)
    for (const refund of elementsOf(payment.devolucoes).map(fieldsOf)) {
      const id = textOf(refund.id)
      if (id === null || !OWN_ID_PATTERN.test(id) || refund.status === 'NAO_REALIZADO') continue
      const item = readRefund(id, payment, refund)
      if (item && item.orderedAt < since) continue
      if (item) items.push(item)
      else unread.push({ key: id, txid: null, sent: JSON.stringify({ id, valor: refund.valor }) })
    }
  return { items, unread, unreadable: unread.length, count: payments.length }
}

function readRefund(id: string, payment: Fields, refund: Fields): TakenOrder | null {
  const endToEndId = textOf(payment.endToEndId)
  const amount = centsOf(refund.valor)
  const orderedAt = timeOf(fieldsOf(refund.horario).solicitacao)
  if (endToEndId === null || !amount || orderedAt === null) return null
  const isDone = refund.status === 'DEVOLVIDO'
  const order = { id, endToEndId, amount, orderedAt, isDone }
  return { ...order, dictKey: null, returnId: textOf(refund.rtrId) ?? id }
}
