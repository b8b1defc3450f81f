import { v7 } from 'uuid'

/** Hexadecimal digits of a bucket, at the end of an id. */
export const BUCKET_DIGITS = 3

/** Random bytes of the next ids: a system call for each id would take two thirds of its time. */
const random = { bytes: new Uint8Array(16 * 256), used: 16 * 256 }
/** Time and counter of the last id. */
const last = { msecs: 0, seq: 0 }

function takeRandom(): Uint8Array {
  if (random.used === random.bytes.length) {
    crypto.getRandomValues(random.bytes)
    random.used = 0
  }
  random.used += 16
  return random.bytes.subarray(random.used - 16, random.used)
}

/**
 * Returns a UUIDv7, which sorts by creation time; within a millisecond, and if the clock goes back, by a counter of 32 bits.
 * Generated before the first write, so that a call with an unknown outcome can be retried with the same id.
 */
export function newId(): string {
  const bytes = takeRandom()
  const now = Date.now()
  if (now > last.msecs) {
    last.msecs = now
    // Its first bit is 0, so that the counter has room.
    last.seq = new DataView(bytes.buffer, bytes.byteOffset).getUint32(6) >>> 1
  } else {
    last.seq = (last.seq + 1) >>> 0
    if (last.seq === 0) last.msecs++
  }
  return v7({ ...last, random: bytes })
}

/**
 * Returns the id of a charge, withdrawal, refund, payment or event. It ends in the bucket of the
 * account, which leads to its database (docs/decisions/029). Sorts as those of `newId` do: time and
 * counter of a UUIDv7 are in front of the bucket.
 */
export function newRoutableId(accountId: string, at?: Date): string {
  const id = at ? v7({ msecs: at.getTime() }) : newId()
  return id.slice(0, -BUCKET_DIGITS) + accountId.slice(-BUCKET_DIGITS)
}

/** Returns the bucket of an account, or the one that a routable id carries: 0 to 4,095. */
export function bucketOf(id: string): number {
  return Number.parseInt(id.slice(-BUCKET_DIGITS), 16)
}

/**
 * Id of the operator's account, the operator's own books, in each database. It has no row in `accounts`:
 * what lists, counts or sums merchants never finds it (docs/decisions/033).
 */
export const OPERATOR_ACCOUNT_ID = '00000000-0000-7000-8000-000000000002'

/**
 * Id of the account by whose charges, refunds and withdrawals the operator tries connections. A merchant like any other,
 * without members, except that it may move single cents, and through connections for homologation.
 */
export const TRIAL_ACCOUNT_ID = '00000000-0000-7000-8000-000000000003'

/** Clock of process (ids) against database (`created_at`): one hour for wrong daylight saving. */
export const CLOCK_SKEW_MS = 3_600_000

/** Returns the lower bound of the ids of rows created at this time or later. */
export function idLowerBoundAt(ms: number): string {
  return smallestIdAt(ms - CLOCK_SKEW_MS)
}

/** Returns the upper bound of the ids of rows created before this time. */
export function idUpperBoundAt(ms: number): string {
  return smallestIdAt(ms + CLOCK_SKEW_MS)
}

export function smallestIdAt(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Returns the id that a bank knows without hyphens. */
export function toUuid(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Removes the hyphens, which banks do not accept in ids. */
export function removeHyphens(id: string): string {
  return id.replaceAll('-', '')
}
