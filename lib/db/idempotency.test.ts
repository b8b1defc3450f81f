import { beforeEach, describe, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import {
  claimKey,
  completeKey,
  findStoredKey,
  type IdempotentRequest,
  reclaimKey,
  releaseKey,
} from '#lib/db/idempotency.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'

let once: IdempotentRequest
beforeEach(async () => {
  const scope = { accountId: (await makeMerchant()).id, mode: 'test', path: '/x' } as const
  const request = { key: newId(), requestHash: new Uint8Array(32), retentionS: 60, id: newId() }
  once = { ...scope, ...request, isResumed: false, lockedBy: null }
})

/** Claims the key as one process, and takes it over as another once the lock is over. */
async function takeOver(former: number | null, next: number | null) {
  const lost = await claimKey({ ...once, lockedBy: former })
  await db().$executeRaw`
    UPDATE idempotency_keys SET locked_until = now() - interval '1 second' WHERE key = ${once.key}`
  const taken = (await reclaimKey({ ...once, lockedBy: next })) ?? expect.unreachable()
  return { lost, taken }
}

describe('a key that was taken over', () => {
  const owners: [string, number | null, number | null][] = [
    ['another process', 7, 8],
    ['a later request of the same process', 7, 7],
    ['a process that others do not see', null, null],
  ]

  test.each(owners)('by %s is not released by its former owner', async (_, former, next) => {
    const { lost, taken } = await takeOver(former, next)
    await releaseKey(lost)
    expect(await findStoredKey(once)).not.toBeNull()
    await releaseKey(taken)
    expect(await findStoredKey(once)).toBeNull()
  })

  test.each(owners)('by %s gets no response of its former owner', async (_, former, next) => {
    const { lost, taken } = await takeOver(former, next)
    await completeKey(lost, '{"of":"the former"}')
    expect(await findStoredKey(once)).toMatchObject({ answer: null })
    await completeKey(taken, '{"of":"the next"}')
    await releaseKey(taken)
    expect(await findStoredKey(once)).toMatchObject({ answer: '{"of":"the next"}', state: 'done' })
  })
})
