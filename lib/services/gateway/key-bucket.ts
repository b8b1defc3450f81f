import type { PixKeyType } from '#lib/base/pix/pix-key.ts'

/** A token bucket, which the bank's key directory refills. */
export interface KeyBucket {
  name: string
  keyTypes: readonly PixKeyType[]
  capacity: number
  /** Time in which one token is added. */
  refillMs: number
}
