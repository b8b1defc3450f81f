import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasStopped, noteProgress } from '#e2e/day/time.ts'

interface Answer {
  status: number
  text: string
}

const RETRY_PAUSE_MS = 300

/** A merchant's program: repeats a request with its key until there is a final response. */
export class Api {
  /** Requests that were sent, repeated ones included. */
  requests = 0
  readonly #url: string
  readonly #agent: Agent

  constructor(url: string, authority: string) {
    this.#url = url
    this.#agent = new Agent({ keepAlive: true, ca: readFileSync(authority) })
  }

  /** Returns `data` of the response; throws if the request is refused. */
  async post(path: string, token: string, key: string, body: object): Promise<{ id: string }> {
    for (; ; await sleep(RETRY_PAUSE_MS)) {
      const answer = await this.#send(path, token, key, JSON.stringify(body)).catch(() => null)
      if (answer && answer.status < 300) {
        noteProgress()
        const { id, transaction_id } = JSON.parse(answer.text).data
        return { id: id ?? transaction_id }
      }
      const isFinal = answer && answer.status < 500 && ![409, 429].includes(answer.status)
      if (isFinal || hasStopped())
        throw new Error(`POST ${path}: ${answer?.status} ${answer?.text}`)
    }
  }

  #send(path: string, token: string, key: string, body: string): Promise<Answer> {
    this.requests += 1
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
      'content-length': String(Buffer.byteLength(body)),
    }
    return new Promise((resolve, reject) => {
      const options = { method: 'POST', agent: this.#agent, headers }
      const sent = request(`${this.#url}/api${path}`, options, async response => {
        try {
          const text = Buffer.concat(await response.toArray()).toString()
          resolve({ status: response.statusCode ?? 0, text })
        } catch (error) {
          reject(error)
        }
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
