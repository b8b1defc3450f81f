import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { type Certificates, readPair } from './certificates.ts'
import type { NoticeSettings } from './settings.ts'
import { flattenHeaders, type Traffic } from './traffic.ts'

const TIMEOUT_MS = 60_000

/** A Pix as a notice shows it. */
export type NoticePix = Record<string, unknown> & { valor: string }

/** Sends notices with the bank's certificate, faithfully or as the settings say. */
export class Notices {
  readonly #settings: NoticeSettings
  readonly #traffic: Traffic
  readonly #agent: Agent
  readonly #agentWithoutCertificate: Agent
  #held: { url: string; pix: NoticePix }[] = []
  #sending = Promise.resolve()

  constructor(settings: NoticeSettings, certificates: Certificates, traffic: Traffic) {
    this.#settings = settings
    this.#traffic = traffic
    const ca = readFileSync(certificates.authority.cert)
    this.#agent = new Agent({ ca, ...readPair(certificates.notices) })
    this.#agentWithoutCertificate = new Agent({ ca })
  }

  /** Sends a notice about one Pix, or holds it until the batch is full. */
  announce(url: string, pix: NoticePix): void {
    if (this.#settings.isAbsent) return
    this.#held.push({ url, pix })
    if (this.#held.length >= this.#settings.reorderBatch) this.flush()
  }

  /** Sends the held notices one after the other, the last one first. */
  flush(): void {
    const bodies = this.#held.reverse().flatMap(({ url, pix }) => {
      const body = this.#render(pix)
      return Array.from({ length: this.#settings.copies }, () => ({ url, body }))
    })
    this.#held = []
    const fault = this.#settings.body === 'array' ? 'array' : null
    this.#track(async () => {
      for (const { url, body } of bodies)
        await this.#attempt(url, body, [...this.#settings.retriesMs], fault)
    })
  }

  /** Sends any body. */
  send(url: string, body: string): void {
    this.#track(() => this.#attempt(url, body, [...this.#settings.retriesMs], 'command'))
  }

  /** First attempts leave in order, each after the one before has ended. */
  #track(act: () => Promise<void>): void {
    this.#sending = this.#sending.then(act)
  }

  /** Resolves when the first attempt of each notice has ended. */
  async idle(): Promise<void> {
    let last: Promise<void>
    do {
      last = this.#sending
      await last
    } while (last !== this.#sending)
  }

  /** Posts once; returns the status, or null if there was no response. */
  async post(
    url: string,
    body: string,
    hasCertificate = true,
    fault: string | null = null,
  ): Promise<number | null> {
    const target = withPixPath(url)
    const agent = hasCertificate ? this.#agent : this.#agentWithoutCertificate
    const requestHeaders = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }
    const at = new Date().toISOString()
    const { status, headers, text } = await call(target, agent, requestHeaders, body)
    this.#traffic.record({
      to: 'receiver',
      at,
      method: 'POST',
      target,
      route: null,
      requestHeaders,
      requestBody: body,
      status,
      responseHeaders: headers,
      responseBody: text,
      fault,
    })
    return status
  }

  /** Sends once; a response that is not 2xx leads to further attempts later. */
  async #attempt(
    url: string,
    body: string,
    pausesMs: number[],
    fault: string | null,
  ): Promise<void> {
    const status = await this.post(url, body, true, fault)
    const isTaken = status !== null && status >= 200 && status < 300
    const pauseMs = pausesMs.shift()
    if (isTaken || pauseMs === undefined) return
    wait(pauseMs, undefined, { ref: false }).then(() => this.#attempt(url, body, pausesMs, fault))
  }

  #render(pix: NoticePix): string {
    const factor = this.#settings.amountFactor
    const shown = factor === 1 ? pix : { ...pix, valor: (Number(pix.valor) * factor).toFixed(2) }
    return JSON.stringify(this.#settings.body === 'array' ? [shown] : { pix: [shown] })
  }
}

/** The bank appends `/pix`, unless the address ends in the parameter that switches it off. */
function withPixPath(url: string): string {
  return /[?&]ignorar=$/.test(url) ? url : `${url}/pix`
}

interface Outcome {
  status: number | null
  headers: Record<string, string>
  text: string
}

function call(url: string, agent: Agent, headers: Record<string, string>, body: string) {
  return new Promise<Outcome>(resolve => {
    const fail = (error: Error) => resolve({ status: null, headers: {}, text: error.message })
    const options = { method: 'POST', agent, headers, timeout: TIMEOUT_MS }
    const sent = request(url, options, async response => {
      try {
        const text = Buffer.concat(await response.toArray()).toString()
        const { statusCode = null } = response
        resolve({ status: statusCode, headers: flattenHeaders(response.headers), text })
      } catch (error) {
        fail(error as Error)
      }
    })
    sent.on('timeout', () => sent.destroy(new Error('timed out')))
    sent.on('error', fail)
    sent.end(body)
  })
}
