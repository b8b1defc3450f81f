import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { LoadOrder, LoadOutcome } from './generator.ts'

export interface Generator {
  child: ChildProcess
  send: (order: LoadOrder) => Promise<LoadOutcome>
}

export function startGenerator(): Generator {
  const child = fork(join(import.meta.dirname, 'generator.ts'), { serialization: 'advanced' })
  const exited = once(child, 'exit').then(() => ({ problem: 'The load generator exited' }))
  return { child, send: order => send(child, exited, order) }
}

type GeneratorMessage = { outcome: LoadOutcome } | { problem: string }

/** Runs a load. Throws on any status but 200: a rate that includes errors has no meaning. */
async function send(
  child: ChildProcess,
  exited: Promise<GeneratorMessage>,
  order: LoadOrder,
): Promise<LoadOutcome> {
  child.send(order)
  const received = once(child, 'message').then(([message]) => message as GeneratorMessage)
  const message = await Promise.race([received, exited])
  if ('problem' in message) throw new Error(message.problem)
  return message.outcome
}

export function buildRequest(
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
