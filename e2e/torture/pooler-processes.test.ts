import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordFigures } from '#e2e/torture/figures.ts'
import { openPooler, POOLERS, type PoolerOfTest } from '#e2e/torture/pooler.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import {
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  makeToken,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { startWebProcess } from '#lib/testing/web-process.ts'
import { startWorkerProcess, type WorkerProcess } from '#lib/testing/worker-process.ts'

const RATE = 50
const START_COUNT = 50
/** At once, as in a roll. */
const STARTING_MAX = 2
const LIVE_COUNT = 20
const PAYMENT_COUNT = 500
/** Generous, because a busy machine is slow: without notifications, a page shows it after 4 s. */
const LIVE_MAX_MS = 2_000
const START_MAX_MS = 30_000

inOwnDatabase()

for (const { name, program, hasStatements } of POOLERS)
  describe.skipIf(program === null)(`processes behind ${name}`, () => {
    const folder = makeScratchFolder('troco-pooled-')
    const processes: WorkerProcess[] = []
    const webs: string[] = []
    let pooler: PoolerOfTest
    let receiver: Receiver
    let merchant: Account
    let token: string

    const settings = () => ({
      DATABASE_URL: pooler.urls.url,
      DATABASE_OWNER_URL: pooler.urls.ownerUrl,
      DATABASE_DIRECT_URL: pooler.directUrl,
      PG_NAMED_STATEMENTS: String(hasStatements),
    })
    const startWeb = async () => {
      const port = await findFreePort()
      const web = await startWebProcess({
        ...settings(),
        PORT: `${port}`,
        HOST: '127.0.0.1',
        PUBLIC_URL: env().PUBLIC_URL,
        TROCO_DATA: folder,
        WORKER: 'false',
        NODE_ENV: 'production',
        DRAIN_SECONDS: '0',
        RATE_TOKEN_PER_SECOND: '0',
        RATE_IP_PER_SECOND: '0',
      })
      return { web, url: `http://127.0.0.1:${port}` }
    }
    beforeAll(async () => {
      pooler = await openPooler(program ?? '', hasStatements)
      receiver = await openReceiver()
      merchant = await makeMerchant()
      token = await makeToken(merchant.id)
      for (const { web, url } of [await startWeb(), await startWeb()]) {
        processes.push(web)
        webs.push(url)
      }
      processes.push(await startWorkerProcess(settings()))
    })
    afterAll(async () => {
      await Promise.all(processes.map(one => one.kill()))
      await receiver?.close()
      await pooler?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    async function post(path: string, body: object) {
      const response = await fetch(`${webs[0]}/api${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      })
      const text = await response.text()
      expect(response.status, text).toBe(200)
      return JSON.parse(text) as { data?: { transaction_id?: string } }
    }
    const createCharge = async (body: object = {}) =>
      (await post('/transactions', { ...CHARGE, ...body })).data?.transaction_id ?? ''
    const pay = (id: string) => post(`/sandbox/transactions/${id}`, { outcome: 'paid' })

    test('a page of one process shows at once what another one was told', async () => {
      const headers = pageHeaders(await signIn(merchant, 'viewer'), merchant.id)
      const tookMs: number[] = []
      for (let count = 0; count < LIVE_COUNT; count++) {
        const id = await createCharge()
        const response = await fetch(`${webs[1]}/api/dashboard/charges/${id}/live`, { headers })
        let heardAt = Number.NaN
        let began = 0
        for await (const chunk of response.body ?? []) {
          const text = Buffer.from(chunk).toString()
          if (began === 0) {
            began = performance.now()
            await pay(id)
          }
          if (!text.includes('"paid"')) continue
          heardAt = performance.now()
          break
        }
        tookMs.push(heardAt - began)
      }
      recordFigures(`live page behind ${name}, from the request that pays`, describeTimes(tookMs))
      expect(Math.max(...tookMs)).toBeLessThan(LIVE_MAX_MS)
    })

    test(`webhooks of ${RATE} payments a second all arrive`, async () => {
      const ids: string[] = []
      for (let count = 0; count < PAYMENT_COUNT; count++)
        ids.push(await createCharge({ webhook_url: receiver.url }))
      const countPending = () => db().delivery.count({ where: { status: 'pending' } })
      await expect.poll(countPending, { timeout: 60_000 }).toBe(0)
      const before = receiver.calls.length
      const paidAt = new Map<string, number>()
      const paying: Promise<unknown>[] = []
      const respondedMs: number[] = []
      for (const id of ids) {
        const began = Date.now()
        paidAt.set(id, began)
        paying.push(pay(id).then(() => respondedMs.push(Date.now() - began)))
        await sleep(1_000 / RATE)
      }
      await Promise.all(paying)
      const timesOfPaid = () =>
        receiver.calls.slice(before).flatMap(({ text, at }) => {
          const id = ids.find(each => text.includes(each))
          return id && text.includes('paid') ? [at - (paidAt.get(id) ?? 0)] : []
        })
      await expect
        .poll(() => timesOfPaid().length, { timeout: 60_000 })
        .toBeGreaterThanOrEqual(PAYMENT_COUNT)
      const tookMs = timesOfPaid()
      recordFigures(`responses behind ${name}`, describeTimes(respondedMs))
      recordFigures(`webhooks behind ${name}, from the request that pays`, describeTimes(tookMs))
      await expectBalancedLedger(merchant.id)
    })

    test(`${START_COUNT} starts beside ${RATE} requests a second are ready`, async () => {
      let isOver = false
      let requestCount = 0
      const requests: Promise<unknown>[] = []
      const load = (async () => {
        for (; !isOver; await sleep(1_000 / RATE)) {
          requestCount++
          requests.push(createCharge())
        }
        await Promise.all(requests)
      })()
      const tookMs: number[] = []
      const loop = async () => {
        while (tookMs.length < START_COUNT) {
          const began = performance.now()
          const { web } = await startWeb()
          tookMs.push(performance.now() - began)
          await web.kill()
        }
      }
      await Promise.all(Array.from({ length: STARTING_MAX }, loop))
      isOver = true
      await load
      const figures = { ...describeTimes(tookMs), requests: requestCount }
      recordFigures(`starts behind ${name}`, figures)
      expect(Math.max(...tookMs)).toBeLessThan(START_MAX_MS)
    }, 900_000)
  })

function describeTimes(tookMs: number[]): Record<string, string | number> {
  const format = (share: number) => `${quantile(tookMs, share).toFixed(0)} ms`
  return { count: tookMs.length, p50: format(0.5), p99: format(0.99), longest: format(1) }
}

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
}
