import { appendFileSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Kind } from './settings.ts'

/** Name in the header `user-agent` of the tests' own client, which sends wrong requests on purpose. */
export const TEST_CLIENT = 'bank-test-client'

/** One request with its response, as judges read it. */
export interface Exchange {
  /** Kind of the bank. */
  kind: Kind
  /** Called party. `receiver`: the one that gets a notice. */
  to: 'bank' | 'receiver'
  at: string
  method: string
  /** Path with query; of a notice, the whole address. */
  target: string
  /** Template of the route, such as `/v2/cob/:txid`. */
  route: string | null
  requestHeaders: Record<string, string>
  requestBody: string
  /** Null: no response, or not a whole one. */
  status: number | null
  responseHeaders: Record<string, string>
  responseBody: string
  /**
   * Kind of the fault that the request met; `quirk`: the response deviates from the standard. Of a
   * notice: `command` if a test wrote the body, `array` if it has no object around its list.
   */
  fault: string | null
}

/**
 * Keeps every exchange in memory and in the bank's folder, one JSON document per line; also in the
 * folder `BANK_TRAFFIC`, if set, where judges read the traffic of all banks of a run.
 */
export class Traffic {
  readonly exchanges: Exchange[] = []
  readonly #kind: Kind
  readonly #files: string[]

  constructor(folder: string, kind: Kind) {
    this.#kind = kind
    this.#files = [join(folder, 'traffic.jsonl')]
    const shared = process.env.BANK_TRAFFIC
    if (!shared) return
    mkdirSync(shared, { recursive: true })
    this.#files.push(join(shared, `${basename(folder)}.jsonl`))
  }

  record(exchange: Omit<Exchange, 'kind'>): void {
    const recorded = { kind: this.#kind, ...exchange }
    this.exchanges.push(recorded)
    for (const file of this.#files) appendFileSync(file, `${JSON.stringify(recorded)}\n`)
  }
}

/** Leaves out credentials. */
export function flattenHeaders(headers: NodeJS.Dict<number | string | string[]>) {
  const shown = Object.entries(headers).filter(([name]) => name !== 'authorization')
  return Object.fromEntries(shown.map(([name, value]) => [name, String(value)]))
}
