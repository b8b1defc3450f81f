import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Order, Outcome } from './generator.ts'

export interface Generator {
  child: ChildProcess
  send: (order: Order) => Promise<Outcome>
}

export function startGenerator(): Generator {
  const child = fork(join(import.meta.dirname, 'generator.ts'), { serialization: 'advanced' })
  const gone = once(child, 'exit').then(() => ({ problem: 'The load generator exited' }))
  return { child, send: order => send(child, gone, order) }
}

type GeneratorMessage = { outcome: Outcome } | { problem: string }

/** Runs a load. Throws on any status but 200: a rate that includes errors has no meaning. */
async function send(
  child: ChildProcess,
  gone: Promise<GeneratorMessage>,
  order: Order,
): Promise<Outcome> {
  child.send(order)
  const received = once(child, 'message').then(([message]) => message as GeneratorMessage)
  const message = await Promise.race([received, gone])
  if ('problem' in message) throw new Error(message.problem)
  return message.outcome
}

export function writeRequest(
  method: string,
  path: string,
  token: string,
  body?: Record<string, unknown>,
): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body)
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Accept: application/json',
    'User-Agent: bench',
    `Authorization: Bearer ${token}`,
  ]
  if (text) {
    head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`)
  }
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`)
}
