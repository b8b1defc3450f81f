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
export interface Page {
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
export function findRetryPosition(position: Position): Position | null {
  const isLong = isLongWindow(position)
  if (!position.hasFailed && !isLong) return { ...position, hasFailed: true }
  const half = narrow(position)
  if (!half) return null
  const limitMs = Math.max(half.to - half.from, FAILED_WINDOW_MIN_MS)
  return { ...half, windowMs: Math.min(position.windowMs, limitMs), hasFailed: !isLong }
}

/** Whether a list is narrowed at its first failure: a few calls lead to a day. */
export function isLongWindow({ from, to }: Position): boolean {
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
