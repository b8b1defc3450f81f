import { PIX_KEY_TYPES, type PixKeyType } from '#lib/base/pix/pix-key.ts'
import type { KeyBucket } from '#lib/services/gateway/key-bucket.ts'

/** Time at which each bucket is full, in milliseconds since 1970, by its name. Absent: it is full. */
export type FullTimes = Record<string, number>

/** Returns the types of keys to which a payout can be sent now: their buckets have a token. */
export function listOpenKeyTypes(
  buckets: readonly KeyBucket[],
  fullTimes: FullTimes,
  now: number,
): PixKeyType[] {
  const isOpen = (type: PixKeyType) => {
    const bucket = bucketOf(buckets, type)
    return !bucket || waitMs(bucket, fullTimes, now) <= 0
  }
  return PIX_KEY_TYPES.filter(isOpen)
}

/** Takes a token for a payout to a key of this type. */
export function takeToken(
  buckets: readonly KeyBucket[],
  fullTimes: FullTimes,
  now: number,
  type: PixKeyType,
): FullTimes {
  const bucket = bucketOf(buckets, type)
  if (!bucket) return fullTimes
  const { name, refillMs } = bucket
  return { ...fullTimes, [name]: Math.max(fullTimes[name] ?? 0, now) + refillMs }
}

/** Gives back the token of a payout that was not sent. */
export function giveBackToken(
  buckets: readonly KeyBucket[],
  fullTimes: FullTimes,
  type: PixKeyType,
): FullTimes {
  const bucket = bucketOf(buckets, type)
  if (!bucket) return fullTimes
  const { name, refillMs } = bucket
  return { ...fullTimes, [name]: (fullTimes[name] ?? 0) - refillMs }
}

/** Empties a bucket until `retryAfterMs`: the bank reports that it is empty. */
export function drain(
  bucket: KeyBucket,
  fullTimes: FullTimes,
  now: number,
  retryAfterMs: number,
): FullTimes {
  const { name, capacity, refillMs } = bucket
  const fullAt = now + retryAfterMs + (capacity - 1) * refillMs
  return { ...fullTimes, [name]: Math.max(fullTimes[name] ?? 0, fullAt) }
}

export function bucketOf(buckets: readonly KeyBucket[], type: PixKeyType): KeyBucket | undefined {
  return buckets.find(({ keyTypes }) => keyTypes.includes(type))
}

/** Time until the bucket has a token. */
function waitMs({ name, capacity, refillMs }: KeyBucket, fullTimes: FullTimes, now: number) {
  return (fullTimes[name] ?? 0) - now - (capacity - 1) * refillMs
}
