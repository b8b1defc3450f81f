import { beforeEach, describe, expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { claimDue, newQueue } from '#lib/orders/order.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'
import { dropOrders } from '#lib/testing/orders.ts'

inOwnDatabase()

const idsOf = (claims: { id: string }[]) => claims.map(({ id }) => id)
const queueAfter = (lastServed?: string, connectionId = SIMULATOR_CONNECTION_ID) => {
  const queue = newQueue(connectionId, 'payout', ['withdrawal'])
  return lastServed ? { ...queue, lastServed } : queue
}

describe('claiming in turn', () => {
  beforeEach(dropOrders)

  /** Makes accounts in the order of their ids, each with orders that wait. */
  async function makeDue(accountCount: number, perAccount: number) {
    const accounts: string[] = []
    for (let count = 0; count < accountCount; count++) accounts.push((await makeMerchant()).id)
    const made = accounts.toSorted().map(async accountId => {
      const ids: string[] = []
      for (let count = 0; count < perAccount; count++)
        ids.push((await LISTS[1]?.insert(accountId, { dueAt: new Date(0) }))?.id ?? '')
      return { accountId, ids }
    })
    return Promise.all(made)
  }
  type Made = { accountId: string; ids: string[] }

  test('takes the oldest order of each account, from the account after the last one on', async () => {
    const [a, b, c] = (await makeDue(3, 3)) as [Made, Made, Made]
    const claimTwo = async (after?: string) =>
      idsOf(await claimDue(queueAfter(after), 'waiting', 2)).sort()
    expect(await claimTwo()).toEqual([a.ids[0], b.ids[0]].sort())
    expect(await claimTwo(a.accountId)).toEqual([b.ids[1], c.ids[0]].sort())
    expect(await claimTwo(b.accountId)).toEqual([c.ids[1], c.ids[2]].sort())
    expect(await claimTwo(c.accountId)).toEqual([a.ids[1], b.ids[2]].sort())
    expect(await claimDue(queueAfter(undefined, newId()), 'waiting', 10)).toEqual([])
    expect(idsOf(await claimDue(queueAfter(), 'waiting', 10))).toEqual([a.ids[2]])
  })

  test('goes on with the account after the last one that it served, and begins again', async () => {
    const [a, b] = (await makeDue(2, 2)) as [Made, Made]
    const queue = queueAfter()
    const claimed: string[] = []
    for (let count = 0; count < 4; count++)
      claimed.push(...idsOf(await claimDue(queue, 'waiting', 1)))
    expect(claimed).toEqual([a.ids[0], b.ids[0], a.ids[1], b.ids[1]])
  })

  test('claims each order once, however many claims run at the same time', async () => {
    const made = await makeDue(4, 50)
    const claimed: string[] = []
    const claimAll = async () => {
      for (let empty = 0; empty < 5; ) {
        const ids = idsOf(await claimDue(queueAfter(), 'waiting', 8))
        claimed.push(...ids)
        if (ids.length === 0) empty++
      }
    }
    await Promise.all(Array.from({ length: 8 }, claimAll))
    expect(claimed.toSorted()).toEqual(made.flatMap(({ ids }) => ids).toSorted())
  })
})
