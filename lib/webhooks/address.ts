import {
  createRangeList,
  LOOPBACK,
  listInterfaceRanges,
  type RangeList,
} from '#lib/core/addresses.ts'
import { env } from '#lib/core/settings.ts'

/** Returns the ranges of WEBHOOK_ALLOW_CIDRS. Default: none; locally, this machine's addresses. */
export function allowedRanges(): RangeList {
  const { WEBHOOK_ALLOW_CIDRS = '', TROCO_ENV } = env()
  const key = `${TROCO_ENV} ${WEBHOOK_ALLOW_CIDRS}`
  if (cachedRanges?.key === key && performance.now() < cachedRanges.until)
    return cachedRanges.ranges
  const own = TROCO_ENV === 'local' ? [...LOOPBACK, ...listInterfaceRanges()] : []
  const ranges = createRangeList(WEBHOOK_ALLOW_CIDRS ? WEBHOOK_ALLOW_CIDRS.split(',') : own)
  cachedRanges = { key, until: performance.now() + CACHE_MS, ranges }
  return ranges
}

/** Cache lifetime: listing interfaces costs as much as a loopback call. */
const CACHE_MS = 5_000
let cachedRanges: { key: string; until: number; ranges: RangeList } | undefined

export function ownRanges(): RangeList {
  return createRangeList([...LOOPBACK, '0.0.0.0/8', '::/128', ...listInterfaceRanges()])
}
