import { listPauseMs } from '#lib/banks/breaker.ts'
import type { GatewayResult, Listing } from '#lib/banks/gateway.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { Pool } from '#lib/core/concurrency.ts'
import { log } from '#lib/core/log.ts'

/** Pause before a list that could not be read is read on. */
const RETRY_PAUSE_MS = 60_000
/** Pages of one reading, far more than a list of months has: a bank's list may never end. */
const PAGES_MAX = 20_000
/** A cursor that leads nowhere so often is given up: the list is read from its beginning. */
const FAILURES_MAX = 5

export type List<Item> = (
  since: Date,
  cursor: string | null,
) => Promise<GatewayResult<Listing<Item>>>

export type ListFailure = Exclude<GatewayResult<never>, { outcome: 'ok' }>

/**
 * How a reading ended, and after how many pages: at the end of the list, because `onPage` wanted no more, with
 * too many pages, or at a page that could not be read, with the cursor that the bank offers instead, if any.
 */
export type ListEnd = { pages: number } & (
  | { end: 'read' | 'stopped' | 'endless' }
  | { end: 'failed'; failure: ListFailure; cursor: string | null; retryCursor: string | null }
)

/** Reads a bank's list from a cursor on; each page is worked on before the next one, unless that returns false. */
export async function readPages<Item>(
  list: List<Item>,
  { since, cursor: first }: { since: Date; cursor: string | null },
  onPage: (page: Listing<Item>) => Promise<boolean> | boolean,
  pagesMax = PAGES_MAX,
): Promise<ListEnd> {
  let cursor = first
  for (let pages = 1; ; pages++) {
    const page = await list(since, cursor)
    if (page.outcome !== 'ok') {
      const retryCursor = ('retryCursor' in page && page.retryCursor) || null
      return { end: 'failed', pages: pages - 1, failure: page, cursor, retryCursor }
    }
    const wantsMore = await onPage(page.value)
    cursor = page.value.nextCursor
    if (cursor === null) return { end: 'read', pages }
    if (!wantsMore) return { end: 'stopped', pages }
    if (pages >= pagesMax) return { end: 'endless', pages }
  }
}

export interface ListTask<Item> {
  /** Name of the list in the log. */
  name: string
  /** Time from the end of a reading to the beginning of the next one. */
  everyMs: number
  findSince: (connectionId: string) => Promise<Date>
  /** Returns the list of a connection; undefined if its bank has none. */
  open: (connection: ServedConnection) => List<Item> | undefined
  /** Books one item of a page. Called again for an item that another reading contains. */
  book: (connectionId: string, item: Item) => Promise<unknown>
  /** Default: 20,000. */
  pagesMax?: number
  now?: () => number
}

/** Work on lists of banks, which is not awaited. */
export interface ListReader {
  /** Starts what is due. */
  run: (signal?: AbortSignal) => Promise<void>
  /** Awaits the readings in progress. */
  idle: () => Promise<void>
}

/** The reading of a connection's list, in the memory of this process. */
interface Course {
  since: Date | null
  cursor: string | null
  pages: number
  /** Consecutive failures to read at the cursor. */
  failures: number
  dueAt: number
}

const BEGINNING = { since: null, cursor: null, pages: 0, failures: 0 }

/**
 * Creates a reader of the lists of all banks, whose items may be booked twice. A page that cannot be read
 * is read again after a minute, and what came before is not; a new process begins anew. A bank that hangs,
 * or whose list never ends, holds up its own readings only. An item that cannot be booked is logged, and
 * stops no other: the next reading contains it.
 */
export function createListReader<Item>(task: ListTask<Item>): ListReader {
  const courses = new Map<string, Course>()
  const readings = new Pool()
  const { now = Date.now } = task
  return {
    async run(signal) {
      for (const connection of await listServed()) {
        const { id } = connection
        if (signal?.aborted) return
        const course = courses.get(id) ?? { ...BEGINNING, dueAt: 0 }
        courses.set(id, course)
        if (readings.free(id) === 0 || course.dueAt > now()) continue
        const postpone = (err: unknown) => {
          course.dueAt = now() + RETRY_PAUSE_MS
          log().error({ err, connectionId: id }, `reading ${task.name} failed`)
        }
        readings.start(readOn(task, connection, course, signal), postpone, id)
      }
    },
    idle: () => readings.idle(),
  }
}

/** Reads from the cursor of the course until the list ends, a page cannot be read or the signal is aborted. */
async function readOn<Item>(
  task: ListTask<Item>,
  connection: ServedConnection,
  course: Course,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { now = Date.now, name, everyMs, pagesMax = PAGES_MAX } = task
  const list = task.open(connection)
  if (!list) return
  const since = course.since ?? (await task.findSince(connection.id))
  course.since = since
  if (signal?.aborted) return
  const bookPage = async ({ items, nextCursor }: Listing<Item>) => {
    for (const item of items) await bookAlone(task, connection.id, item)
    Object.assign(course, { cursor: nextCursor, pages: course.pages + 1, failures: 0 })
    return !signal?.aborted
  }
  const position = { since, cursor: course.cursor }
  const read = await readPages(list, position, bookPage, pagesMax - course.pages)
  if (read.end === 'stopped') return
  if (read.end === 'failed') {
    if (read.retryCursor !== null) course.cursor = read.retryCursor
    else if (++course.failures >= FAILURES_MAX) Object.assign(course, BEGINNING)
    course.dueAt = now() + listPauseMs(read.failure, RETRY_PAUSE_MS)
    return
  }
  if (read.end === 'endless')
    log().error({ connectionId: connection.id }, `list of ${name} never ends`)
  Object.assign(course, BEGINNING, { dueAt: now() + everyMs })
}

async function bookAlone<Item>(
  { name, book }: ListTask<Item>,
  connectionId: string,
  item: Item,
): Promise<void> {
  try {
    await book(connectionId, item)
  } catch (error) {
    log().error({ err: error, connectionId, item }, `booking one of the ${name} failed`)
  }
}
