/** A fault that meets the next matching requests. */
export interface Fault {
  /**
   * `delay` waits; `hang` never responds; `half-close` closes the bank's direction without a byte;
   * `reset` aborts the connection; `half-body` breaks off in the body; `respond` sends the given
   * response; `shift-pages` leaves an earlier record out of every page but the first.
   */
  kind: 'delay' | 'hang' | 'half-close' | 'reset' | 'half-body' | 'respond' | 'shift-pages'
  method?: string
  /** Beginning of the path. */
  path?: string
  /** Number of requests that meet it; 1 by default. */
  times?: number
  /** Whether the bank acts before the fault; by default it does not. With `half-body`, it always does. */
  hasActed?: boolean
  delayMs?: number
  /** For `respond`. A body that begins with `<` is HTML. */
  status?: number
  body?: string
  headers?: Record<string, string>
}

const HTML_ERROR = '<html><body><h1>Service Unavailable</h1></body></html>'

export class Faults {
  #pending: Fault[] = []

  add(fault: Fault): void {
    this.#pending.push({ ...fault, times: fault.times ?? 1 })
  }

  get pendingCount(): number {
    return this.#pending.length
  }

  clear(): void {
    this.#pending = []
  }

  /** Takes the first fault that matches the request. */
  take(method: string, path: string): Fault | null {
    const fault = this.#pending.find(
      candidate => (candidate.method ?? method) === method && path.startsWith(candidate.path ?? ''),
    )
    if (!fault) return null
    fault.times = (fault.times ?? 1) - 1
    this.#pending = this.#pending.filter(({ times = 0 }) => times > 0)
    return fault
  }
}

/** Returns the response of a fault of the kind `respond`: 503 in HTML unless it says otherwise. */
export function responseOf({ status = 503, body = HTML_ERROR, headers }: Fault) {
  const type = body.startsWith('<') ? 'text/html; charset=utf-8' : 'application/json'
  return { status, text: body, headers: { 'content-type': type, ...headers } }
}
