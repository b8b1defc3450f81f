import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCreations } from '#e2e/torture/creations.ts'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { type Haproxy, startHaproxy } from '#e2e/torture/haproxy.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { findProgram } from '#lib/testing/debian.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  makeToken,
} from '#lib/testing/fixtures.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'
import { startWebProcess } from '#lib/testing/web-process.ts'
import { startWorkerProcess, type WorkerProcess } from '#lib/testing/worker-process.ts'

/** Installed only by `npm run torture`, and only as root on Debian. */
const program = pickSize(0, 1) === 1 ? await findProgram('haproxy', ['haproxy']) : null

const ROLL_COUNT = 3
const REQUEST_COUNT = 10_000

inOwnDatabase()

describe.skipIf(!program)('behind a balancer that repeats no request', () => {
  const folder = makeScratchFolder('troco-roll-')
  const webs = new Map<number, WorkerProcess>()
  let workers: WorkerProcess[] = []
  let balancer: Haproxy

  const startWeb = async (port: number) => {
    const { DATABASE_URL = '', PUBLIC_URL } = env()
    const settings = {
      DATABASE_URL,
      DATABASE_OWNER_URL: ownerUrlOf(DATABASE_URL),
      MIGRATE: 'false',
      PORT: `${port}`,
      HOST: '127.0.0.1',
      PUBLIC_URL,
      TROCO_DATA: folder,
      WORKER: 'false',
      NODE_ENV: 'production',
      DRAIN_SECONDS: '3',
      TRUST_PROXY: '1',
      RATE_TOKEN_PER_SECOND: '0',
      RATE_IP_PER_SECOND: '0',
    }
    webs.set(port, await startWebProcess(settings))
  }

  beforeAll(async () => {
    const ports = [await findFreePort(), await findFreePort()]
    await Promise.all(ports.map(startWeb))
    workers = [await startWorkerProcess(), await startWorkerProcess()]
    balancer = await startHaproxy(program ?? '', ports)
  })
  afterAll(async () => {
    await balancer?.close()
    await Promise.all([...webs.values(), ...workers].map(one => one.kill()))
    rmSync(folder, { recursive: true, force: true })
  })

  /** Replaces each process by a new one, one after the other. */
  async function roll(): Promise<void> {
    for (const [port, web] of webs) {
      expect(await web.stop()).toBe(0)
      await startWeb(port)
      await expect.poll(balancer.listUp, { timeout: 30_000 }).toContain(port)
    }
    for (const worker of workers) expect(await worker.stop()).toBe(0)
    workers = [await startWorkerProcess(), await startWorkerProcess()]
  }

  test(`${ROLL_COUNT} rolls of all processes fail none of ${REQUEST_COUNT} requests`, async () => {
    await expect.poll(balancer.listUp, { timeout: 30_000 }).toHaveLength(webs.size)
    const merchant = await makeMerchant()
    const token = await makeToken(merchant.id)
    const creations = startCreations(balancer.url, token)
    for (let count = 0; count < ROLL_COUNT; count++) await roll()
    const { begun, outcomes } = await creations.end(REQUEST_COUNT)
    recordFigures('rolls', outcomes)
    expect(outcomes).toEqual({ 200: begun })
    expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(begun)
    await expectBalancedLedger(merchant.id)
  }, 900_000)
})
