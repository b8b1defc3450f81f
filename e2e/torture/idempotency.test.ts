import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatSecondsSince, pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import {
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
} from '#lib/testing/fixtures.ts'

const ROUND_COUNT = pickSize(2, 50)
const CONCURRENCY = 100
const FUNDS = 100_000_00

let servers: ApiProcess[]
beforeAll(async () => {
  servers = [await startApiProcess(), await startApiProcess()]
})
afterAll(async () => {
  for (const server of servers ?? []) await server.close()
  await disconnect()
})

interface CallResult {
  status: number
  text: string
  isReplayed: boolean
}

/** Sends a request, and repeats it while another request with its key is in progress. */
async function sendOnce(
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<CallResult> {
  for (;;) {
    const response = await fetch(url, { method: 'POST', headers, body })
    const text = await response.text()
    if (response.headers.get('x-error-code') === 'in_progress') continue
    const isReplayed = response.headers.get('idempotent-replayed') === 'true'
    return { status: response.status, text, isReplayed }
  }
}

test(`${CONCURRENCY} concurrent requests with one key at two servers, ${ROUND_COUNT} times: one row, one response`, async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  await fundMerchant(merchant, FUNDS)
  const bodies = {
    transactions: CHARGE,
    withdrawals: { amount: 1_000, pix_key: 'hold@troco.example', pix_key_type: 'email' },
  }
  const began = Date.now()
  for (let round = 0; round < ROUND_COUNT; round++) {
    const path = round % 2 === 0 ? 'transactions' : 'withdrawals'
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': `round ${round}`,
    }
    const calls = Array.from({ length: CONCURRENCY }, (_, index) => {
      const url = `${servers[index % servers.length]?.url}/api/${path}`
      return sendOnce(url, headers, JSON.stringify(bodies[path]))
    })
    const responses = await Promise.all(calls)
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
    expect(responses.filter(({ isReplayed }) => !isReplayed)).toHaveLength(1)
  }
  recordFigures('idempotency', {
    calls: ROUND_COUNT * CONCURRENCY,
    rows: ROUND_COUNT,
    took: formatSecondsSince(began),
  })

  const where = { accountId: merchant.id }
  const withdrawals = Math.floor(ROUND_COUNT / 2)
  expect(await db().charge.count({ where })).toBe(1 + ROUND_COUNT - withdrawals)
  expect(await db().withdrawal.count({ where })).toBe(withdrawals)
  const account = await fetch(`${servers[0]?.url}/api/account`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(await account.json()).toMatchObject({ balance: FUNDS - withdrawals * 1_000 })
  await expectBalancedLedger(merchant.id)
}, 300_000)
