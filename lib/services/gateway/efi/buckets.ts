import type { BankClient } from '#lib/services/gateway/api-pix/client.ts'
import { fieldsOf } from '#lib/services/gateway/api-pix/json.ts'
import { bodyOf, isSuccess, type Reply } from '#lib/services/gateway/api-pix/reply.ts'
import { readBucket } from '#lib/services/gateway/efi/read.ts'
import type { KeyBucket } from '#lib/services/gateway/key-bucket.ts'

/** The numbers depend on the contract, which seldom changes. */
const AGE_MAX_MS = 60 * 60_000
/** After the bank has reported an empty bucket. */
const LIMITED_AGE_MAX_MS = 60_000
const READ_MAX_MS = 10_000

/**
 * Buckets of key look-ups by Efí's documentation. Their numbers are guesses until the bank has named
 * its own: high, because an empty bucket makes payouts wait as long as the bank says.
 */
const FIRST: readonly KeyBucket[] = [
  { name: 'A', keyTypes: ['cpf', 'cnpj', 'random'], capacity: 1_000, refillMs: 3_000 },
  { name: 'B', keyTypes: ['email', 'phone'], capacity: 1_000, refillMs: 3_000 },
]

/** Remembers the bank's buckets of key look-ups. */
export class Buckets {
  current = FIRST
  private readonly client: BankClient
  private readAt = Number.NEGATIVE_INFINITY

  constructor(client: BankClient) {
    this.client = client
  }

  /**
   * Reads the numbers after a payout, which does not wait for them: if they are old, and more often if
   * the bank reports an empty bucket.
   */
  refresh(reply: Reply): void {
    const isLimited = reply.kind === 'response' && reply.status === 429
    const ageMs = performance.now() - this.readAt
    if (ageMs < (isLimited ? LIMITED_AGE_MAX_MS : AGE_MAX_MS)) return
    this.readAt = performance.now()
    void this.read()
  }

  private async read(): Promise<void> {
    const call = { method: 'GET', path: '/gn/chaves/balde' } as const
    const reply = await this.client.call(call, AbortSignal.timeout(READ_MAX_MS))
    if (!isSuccess(reply)) return
    const body = fieldsOf(bodyOf(reply))
    this.current = FIRST.map(bucket => ({ ...bucket, ...readBucket(body[`balde${bucket.name}`]) }))
  }
}
