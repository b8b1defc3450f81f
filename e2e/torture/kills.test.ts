import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { formatSecondsSince, pickSize, recordFigures } from '#e2e/torture/figures.ts'
import {
  type Installation,
  killProcesses,
  makeInstallation,
  processesOf,
  runCommand,
  startServer,
  waitUntilStopped,
} from '#lib/testing/process.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'

const random = new Random(chooseSeed(), 0)

const KILL_COUNT = pickSize(1, 20)
const CLIENT_COUNT = 16
/** Acknowledged charges before each kill; the kill follows after a random delay. */
const CHARGES_BETWEEN_KILLS = pickSize(60, 1_500)
const KILL_DELAY_MAX_MS = 400

let installation: Installation
beforeEach(async () => {
  installation = await makeInstallation()
})
afterEach(async () => {
  await killProcesses(installation)
  installation.remove()
})

interface Demo {
  base_url: string
  token: string
}

function readDemo(): Demo {
  return JSON.parse(readFileSync(join(installation.folder, 'data', 'demo.json'), 'utf8'))
}

/** Clients that create charges. They repeat every second request, by its key, until it succeeds. */
class Clients {
  /** Acknowledged ids by request number. */
  readonly acknowledged = new Map<number, string>()
  repeatCount = 0
  #demo: Demo
  #sentCount = 0
  #isStopped = false
  #running: Promise<void>[]

  constructor(demo: Demo) {
    this.#demo = demo
    this.#running = Array.from({ length: CLIENT_COUNT }, () => this.#runClient())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  async #runClient(): Promise<void> {
    while (!this.#isStopped) {
      const number = this.#sentCount++
      let id = await this.#create(number)
      while (id === null && isKeyed(number)) {
        this.repeatCount++
        await sleep(20)
        id = await this.#create(number)
      }
      if (id !== null) this.acknowledged.set(number, id)
      else await sleep(20)
    }
  }

  async #create(number: number): Promise<string | null> {
    const body = {
      amount: 700,
      client_name: 'Ana',
      client_email: 'ana@example.com',
      client_doc: '39053344705',
      metadata: { number },
    }
    const headers = new Headers({ authorization: `Bearer ${this.#demo.token}` })
    headers.set('content-type', 'application/json')
    if (isKeyed(number)) headers.set('idempotency-key', `kill ${number}`)
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const url = `${this.#demo.base_url}/transactions`
    const response = await fetch(url, init).catch(() => null)
    const payload = response?.ok ? await response.json().catch(() => null) : null
    return payload?.data.transaction_id ?? null
  }
}

function isKeyed(number: number): boolean {
  return number % 2 === 0
}

async function listCharges({ base_url, token }: Demo): Promise<Map<number, string[]>> {
  const idsByNumber = new Map<number, string[]>()
  for (let cursor = ''; ; ) {
    const response = await fetch(`${base_url}/transactions?limit=100${cursor}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { data, next_cursor } = await response.json()
    for (const { id, metadata } of data) {
      const number = metadata?.number
      if (number !== undefined) idsByNumber.set(number, [...(idsByNumber.get(number) ?? []), id])
    }
    if (next_cursor === null) return idsByNumber
    cursor = `&cursor=${next_cursor}`
  }
}

test(`after ${KILL_COUNT} kill -9 of all processes under load, no acknowledged charge is lost or duplicated`, async () => {
  const began = Date.now()
  let server = await startServer(installation)
  const demo = readDemo()
  const clients = new Clients(demo)
  const waitForAcknowledged = async (count: number) => {
    for (
      const initialCount = clients.acknowledged.size;
      clients.acknowledged.size < initialCount + count;
    )
      await sleep(20)
  }
  for (let kill = 1; kill <= KILL_COUNT; kill++) {
    await waitForAcknowledged(CHARGES_BETWEEN_KILLS)
    await sleep(random.fraction() * KILL_DELAY_MAX_MS)
    await killProcesses(installation)
    server = await startServer(installation)
    expect(readDemo().token).toBe(demo.token)
  }
  await waitForAcknowledged(CHARGES_BETWEEN_KILLS)
  await clients.stop()

  const { acknowledged, repeatCount } = clients
  const idsByNumber = await listCharges(demo)
  recordFigures('kill -9', {
    kills: KILL_COUNT,
    acknowledged: acknowledged.size,
    found: [...idsByNumber.values()].flat().length,
    'requests repeated': repeatCount,
    took: formatSecondsSince(began),
  })
  const missing = [...acknowledged].filter(([number, id]) => !idsByNumber.get(number)?.includes(id))
  expect(missing, 'acknowledged and missing').toEqual([])
  expect([...idsByNumber].filter(([, ids]) => ids.length > 1)).toEqual([])
  const unacknowledged = [...idsByNumber.keys()].filter(
    number => isKeyed(number) && !acknowledged.has(number),
  )
  expect(unacknowledged, 'created with a key and never acknowledged').toEqual([])

  const verified = await runCommand(['troco', 'ledger', 'verify'], installation.settings)
  expect(verified.code, verified.output).toBe(0)
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  await waitUntilStopped(installation)
  expect(processesOf(installation)).toEqual([])
}, 900_000)
