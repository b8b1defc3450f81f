import { log } from '#lib/base/log.ts'
import { listServed, type ServedConnection } from '#lib/services/gateway/choose.ts'
import type { GatewayResult } from '#lib/services/gateway/gateway.ts'
import type { Listing } from '#lib/services/gateway/lists.ts'
import { listPauseMs } from '#lib/services/gateway/order.ts'

/** Pause before a list that could not be read is read on. */
const RETRY_PAUSE_MS = 60_000
/** Pages of one reading, far more than a list of months has: a bank's list may never end. */
const PAGES_MAX = 20_000
/** A place that leads nowhere so often is given up: the list is read from its beginning. */
const FAILURES_MAX = 5

type List<Item> = (since: Date, cursor: string | null) => Promise<GatewayResult<Listing<Item>>>

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
  work: Promise<void> | null
}

/**
 * Creates a reader of the lists of all banks, whose items may be booked twice. A page that cannot be read
 * is read again after a minute, and what came before is not; a new process begins anew. A bank that hangs,
 * or whose list never ends, holds up its own readings only. An item that cannot be booked is logged, and
 * stops no other: the next reading contains it.
 */
export function createListReader<Item>(task: ListTask<Item>): ListReader {
  const courses = new Map<string, Course>()
  const { now = Date.now } = task
  const start = (connection: ServedConnection, course: Course, signal?: AbortSignal) => {
    course.work = readOn(task, connection, course, signal)
      .catch(error => {
        course.dueAt = now() + RETRY_PAUSE_MS
        log().error({ err: error, connectionId: connection.id }, `reading ${task.name} failed`)
      })
      .finally(() => {
        course.work = null
      })
  }
  return {
    async run(signal) {
      for (const connection of await listServed()) {
        if (signal?.aborted) return
        const course = courses.get(connection.id) ?? { ...BEGINNING, dueAt: 0, work: null }
        courses.set(connection.id, course)
        if (!course.work && course.dueAt <= now()) start(connection, course, signal)
      }
    },
    async idle() {
      await Promise.all([...courses.values()].map(({ work }) => work))
    },
  }
}

const BEGINNING = { since: null, cursor: null, pages: 0, failures: 0 }

/** Reads from the place of the course until the list ends, a page cannot be read or the signal is aborted. */
async function readOn<Item>(
  task: ListTask<Item>,
  connection: ServedConnection,
  course: Course,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { now = Date.now } = task
  const readPage = task.open(connection)
  if (!readPage) return
  const since = course.since ?? (await task.findSince(connection.id))
  course.since = since
  while (!signal?.aborted) {
    const page = await readPage(since, course.cursor)
    if (page.outcome !== 'ok') {
      const { retryCursor = null } = 'retryCursor' in page ? page : {}
      if (retryCursor !== null) course.cursor = retryCursor
      else if (++course.failures >= FAILURES_MAX) Object.assign(course, BEGINNING)
      course.dueAt = now() + listPauseMs(page, RETRY_PAUSE_MS)
      return
    }
    for (const item of page.value.items) await bookAlone(task, connection.id, item)
    const { nextCursor: cursor } = page.value
    Object.assign(course, { cursor, pages: course.pages + 1, failures: 0 })
    const isEndless = cursor !== null && course.pages >= (task.pagesMax ?? PAGES_MAX)
    if (isEndless) log().error({ connectionId: connection.id }, `list of ${task.name} never ends`)
    if (cursor !== null && !isEndless) continue
    Object.assign(course, BEGINNING, { dueAt: now() + task.everyMs })
    return
  }
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
