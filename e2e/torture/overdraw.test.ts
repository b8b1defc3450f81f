import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatSecondsSince, pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { disconnect } from '#lib/db/client.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
} from '#lib/testing/fixtures.ts'
import { Random } from '#lib/testing/random.ts'

const WITHDRAWAL_COUNT = pickSize(500, 10_000)
const CLIENT_COUNT = pickSize(16, 64)
const SEEDS = [1, 20_261_121, 4_294_967_295].slice(0, pickSize(1, 3))

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
}

async function withdrawConcurrently(token: string, amount: number): Promise<CallResult[]> {
  const numbers = Array.from({ length: WITHDRAWAL_COUNT }, (_, number) => number).values()
  const authorization = `Bearer ${token}`
  const body = JSON.stringify({ amount, pix_key: 'hold@troco.example', pix_key_type: 'email' })
  const responses: CallResult[] = []
  const clients = Array.from({ length: CLIENT_COUNT }, async (_, client) => {
    const url = `${servers[client % servers.length]?.url}/api/withdrawals`
    for (const number of numbers) {
      const key = { 'idempotency-key': `withdraw ${number}` }
      const headers = { authorization, 'content-type': 'application/json', ...key }
      // A busy machine may respond with 503: the client repeats the request.
      let response = await fetch(url, { method: 'POST', headers, body })
      while (response.status === 503) response = await fetch(url, { method: 'POST', headers, body })
      responses.push({ status: response.status, text: await response.text() })
    }
  })
  await Promise.all(clients)
  return responses
}

test.each(SEEDS)(
  `${WITHDRAWAL_COUNT} withdrawals by ${CLIENT_COUNT} clients at two servers, seed %i: the balance is never exceeded`,
  async seed => {
    const random = new Random(seed, 0)
    const amount = random.between(1_000, 10_000)
    const coveredCount = random.between(WITHDRAWAL_COUNT * 0.4, WITHDRAWAL_COUNT * 0.8)
    const remainder = random.between(0, amount - 1)
    const merchant = await makeMerchant()
    const token = await makeToken(merchant.id)
    await fundMerchant(merchant, coveredCount * amount + remainder)

    const began = Date.now()
    const responses = await withdrawConcurrently(token, amount)
    const succeeded = responses.filter(({ status }) => status === 200)
    const refused = responses.filter(({ status }) => status !== 200)
    recordFigures(`overdraw, seed ${seed}`, {
      withdrawals: responses.length,
      won: `${succeeded.length} of ${coveredCount}`,
      took: formatSecondsSince(began),
    })

    const refusal = '{"errors":{"amount":["Insufficient balance"]}}'
    expect(new Set(refused.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set([`422 ${refusal}`]),
    )
    expect([succeeded.length, responses.length]).toEqual([coveredCount, WITHDRAWAL_COUNT])
    expect(new Set(succeeded.map(({ text }) => JSON.parse(text).data.id)).size).toBe(coveredCount)
    for (const { url } of servers) {
      const headers = { authorization: `Bearer ${token}` }
      const account = await fetch(`${url}/api/account`, { headers })
      expect(await account.json()).toEqual({ name: merchant.name, balance: remainder })
    }
    await expectBalancedLedger(merchant.id)
  },
  300_000,
)
