import { Agent, request as requestByHttp } from 'node:http'
import { request as requestByTls, Agent as TlsAgent } from 'node:https'
import { CHARGE } from '#lib/testing/charge.ts'

const LOOP_COUNT = 8

interface Creations {
  /** Ends after at least so many requests. */
  end: (countMin?: number) => Promise<{ begun: number; outcomes: Record<string, number> }>
}

/** Creates charges in loops that keep their connections and repeat nothing, and counts the outcomes. */
export function startCreations(url: string, token: string, ca?: Buffer): Creations {
  const options = { keepAlive: true, maxSockets: LOOP_COUNT }
  const agent = ca ? new TlsAgent({ ...options, ca }) : new Agent(options)
  const request = ca ? requestByTls : requestByHttp
  const outcomes = new Map<string, number>()
  let [begun, countMin] = [0, Number.POSITIVE_INFINITY]
  const create = () =>
    new Promise<string>(resolve => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const sent = request(`${url}/api/transactions`, { method: 'POST', agent, headers })
      sent.on('response', response => {
        response.resume()
        response.on('close', () => resolve(`${response.statusCode}`))
      })
      sent.on('error', error => resolve(`${error}`))
      sent.end(JSON.stringify(CHARGE))
    })
  const runLoop = async () => {
    while (begun < countMin) {
      begun++
      const outcome = await create()
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  }
  const loops = Array.from({ length: LOOP_COUNT }, runLoop)
  return {
    async end(min = 0) {
      countMin = min
      await Promise.all(loops)
      agent.destroy()
      return { begun, outcomes: Object.fromEntries(outcomes) }
    },
  }
}
