import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Call, ReceiverQuery } from './receiver.ts'

export interface Receiver {
  child: ChildProcess
  url: string
  /** Waits for `expected` calls, or until none arrive for SILENCE_MAX_MS, and returns them. */
  collect: (expected: number) => Promise<Call[]>
}

const POLL_INTERVAL_MS = 100
/** Longer than the pause before the first retry, so that a late call does not count as lost. */
const SILENCE_MAX_MS = 15_000

export async function startReceiver(
  trackChild: (child: ChildProcess) => unknown,
): Promise<Receiver> {
  const child = fork(join(import.meta.dirname, 'receiver.ts'), { serialization: 'advanced' })
  trackChild(child)
  const exited = once(child, 'exit').then(() => {
    throw new Error('The receiver exited')
  })
  exited.catch(() => {})
  const receiveMessage = async () => (await Promise.race([once(child, 'message'), exited]))[0]
  const query = (question: ReceiverQuery) => {
    child.send(question)
    return receiveMessage()
  }
  const port: number = await receiveMessage()

  async function collect(expected: number): Promise<Call[]> {
    let [count, since] = [0, Date.now()]
    while (count < expected && Date.now() - since < SILENCE_MAX_MS) {
      const now: number = await query('how many')
      if (now > count) [count, since] = [now, Date.now()]
      await sleep(POLL_INTERVAL_MS)
    }
    return query('which')
  }
  return { child, url: `http://127.0.0.1:${port}`, collect }
}
