import { setTimeout as sleep } from 'node:timers/promises'
import { db } from '#lib/db/client.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { CHARGE } from '#lib/testing/fixtures.ts'

const PAUSE_AFTER_ERROR_MS = 20
const STALL_MAX_MS = 60_000

export interface ClientResponse {
  status: number
  text: string
  headers: Headers
  tookMs: number
}

/** Concurrent clients of a merchant: each creates charges and pays every second one. */
export class Clients {
  readonly created = new Set<string>()
  readonly paid = new Set<string>()
  readonly responses: ClientResponse[] = []
  #base: string
  #token: string
  #isStopped = false
  #running: Promise<void>[] = []

  constructor(url: string, token: string) {
    this.#base = `${url}/api`
    this.#token = token
  }

  start(count: number): void {
    this.#isStopped = false
    this.#running = Array.from({ length: count }, () => this.#runClient())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  async waitForCreated(count: number): Promise<void> {
    const deadline = Date.now() + STALL_MAX_MS
    for (
      const initialCount = this.created.size;
      this.created.size < initialCount + count;
      await sleep(10)
    ) {
      if (Date.now() > deadline)
        throw new Error(`No charge was created: ${this.responses.at(-1)?.text}`)
    }
  }

  async create(key?: string): Promise<{ response: ClientResponse; id: string | null }> {
    const response = await this.send('/transactions', CHARGE, key)
    const id = response.status === 200 ? JSON.parse(response.text).data.transaction_id : null
    if (id !== null) this.created.add(id)
    return { response, id }
  }

  async pay(id: string): Promise<ClientResponse> {
    const response = await this.send(`/sandbox/transactions/${id}`, { outcome: 'paid' })
    if (response.status === 200) this.paid.add(id)
    return response
  }

  /** Sends a POST with a body, a GET without. A missing response has status 0. */
  async send(path: string, body?: unknown, key?: string): Promise<ClientResponse> {
    const began = performance.now()
    const headers = {
      authorization: `Bearer ${this.#token}`,
      'content-type': 'application/json',
      ...(key ? { 'idempotency-key': key } : {}),
    }
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
    const received = await fetch(`${this.#base}${path}`, init)
      .then(async response => ({ response, text: await response.text() }))
      .then(({ response: { status, headers }, text }) => ({ status, headers, text }))
      .catch(error => ({ status: 0, text: String(error), headers: new Headers() }))
    const response = { ...received, tookMs: performance.now() - began }
    this.responses.push(response)
    return response
  }

  statuses(): number[] {
    return [...new Set(this.responses.map(({ status }) => status))].sort()
  }

  slowestMs(): number {
    return Math.max(0, ...this.responses.map(({ tookMs }) => tookMs))
  }

  async #runClient(): Promise<void> {
    for (let number = 0; !this.#isStopped; number++) {
      const { id } = await this.create()
      const response = id !== null && number % 2 === 0 ? await this.pay(id) : null
      if (id === null || (response && response.status !== 200)) await sleep(PAUSE_AFTER_ERROR_MS)
    }
  }
}

interface RecordCheck {
  foundCharges: number
  missingCharges: string[]
  missingPayments: string[]
  /** Rows for which charge, ledger and events disagree. */
  contradictions: unknown[]
}

export async function checkRecords(
  accountId: string,
  { created, paid }: Clients,
): Promise<RecordCheck> {
  const rows = await db().$queryRaw<{ id: string; isPaid: boolean; isWhole: boolean }[]>`
    SELECT c.id, c.status = 'paid' AS "isPaid",
      (c.status IN ('pending', 'paid')
        AND credits = CASE c.status WHEN 'paid' THEN 1 ELSE 0 END AND events = credits) AS "isWhole"
    FROM (SELECT c.*,
        (SELECT count(*) FROM ledger_transfers t WHERE t.account_id = c.account_id
          AND t.kind = 'charge_paid' AND t.subject_id = c.id) AS credits,
        (SELECT count(*) FROM events e
          WHERE e.account_id = c.account_id AND e.subject_id = c.id) AS events
      FROM charges c WHERE c.account_id = ${accountId}::uuid) c`
  const strayEvents = await db().$queryRaw<unknown[]>`
    SELECT e.id, e.sequence::int FROM events e
    LEFT JOIN charges c ON c.account_id = e.account_id AND c.id = e.subject_id
    WHERE e.account_id = ${accountId}::uuid AND (c.id IS NULL OR e.type <> 'transaction.paid')`
  const gaps = await db().$queryRaw<unknown[]>`
    SELECT max(sequence)::int AS last, count(*)::int AS events FROM events
    WHERE account_id = ${accountId}::uuid HAVING max(sequence) <> count(*)`
  const { findings } = await verifyLedger(db(), accountId)
  const rowsById = new Map(rows.map(row => [row.id, row]))
  return {
    foundCharges: [...created].filter(id => rowsById.has(id)).length,
    missingCharges: [...created].filter(id => !rowsById.has(id)),
    missingPayments: [...paid].filter(id => !rowsById.get(id)?.isPaid),
    contradictions: [
      ...rows.filter(({ isWhole }) => !isWhole),
      ...strayEvents,
      ...gaps,
      ...findings.filter(({ violation: wrong }) => wrong),
    ],
  }
}

/** Check without loss: everything acknowledged exists, and charge, ledger and events agree. */
export const NO_LOSS = { missingCharges: [], missingPayments: [], contradictions: [] }
