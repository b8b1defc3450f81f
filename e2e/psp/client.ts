import { readFileSync } from 'node:fs'
import { Agent, type AgentOptions, request } from 'node:https'
import type { RunningBank } from './start.ts'
import { TEST_CLIENT } from './traffic.ts'

export interface Answer {
  status: number
  headers: NodeJS.Dict<string | string[]>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of a response
  body: any
}

/** A client of the bank as a careful integrator writes it: keep-alive, a certificate and a token. */
export class Client {
  readonly #bank: RunningBank
  readonly #agent: Agent
  #token = ''

  /** `tls` replaces the certificate; by default, the pair that the bank issued. */
  constructor(bank: RunningBank, tls?: AgentOptions) {
    this.#bank = bank
    const { client, authority } = bank.certificates
    const own = { cert: readFileSync(client.cert), key: readFileSync(client.key) }
    this.#agent = new Agent({ keepAlive: true, ca: readFileSync(authority.cert), ...(tls ?? own) })
  }

  async signIn(scope?: string): Promise<Answer> {
    const { clientId, clientSecret } = this.#bank
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    const answer = await this.send(
      'POST',
      '/oauth/token',
      { grant_type: 'client_credentials', scope },
      { authorization: `Basic ${basic}` },
    )
    this.#token = answer.body?.access_token ?? ''
    return answer
  }

  async call(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
    if (!this.#token) await this.signIn()
    return this.send(method, path, body, { authorization: `Bearer ${this.#token}` }, signal)
  }

  send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const own = {
        'user-agent': TEST_CLIENT,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      }
      const options = { method, agent: this.#agent, headers: { ...own, ...headers }, signal }
      const sent = request(`${this.#bank.url}${path}`, options, async response => {
        try {
          const text = Buffer.concat(await response.toArray()).toString()
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            body: /json/.test(response.headers['content-type'] ?? '') ? JSON.parse(text) : null,
          })
        } catch (error) {
          reject(error)
        }
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
