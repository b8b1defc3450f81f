import { appendFileSync } from 'node:fs'

/** One request with its response, as judges read it. */
export interface Exchange {
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
  /** Kind of the fault that changed the response. */
  fault: string | null
}

/** Keeps every exchange in memory and in a file with one JSON document per line. */
export class Traffic {
  readonly exchanges: Exchange[] = []
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  record(exchange: Exchange): void {
    this.exchanges.push(exchange)
    appendFileSync(this.#file, `${JSON.stringify(exchange)}\n`)
  }
}

/** Leaves out credentials. */
export function flattenHeaders(headers: NodeJS.Dict<number | string | string[]>) {
  const shown = Object.entries(headers).filter(([name]) => name !== 'authorization')
  return Object.fromEntries(shown.map(([name, value]) => [name, String(value)]))
}
