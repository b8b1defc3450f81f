import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Call, Question } from './receiver.ts'

export interface Receiver {
  child: ChildProcess
  url: string
  /** Waits for `expected` calls, or until none arrive for SILENCE_MAX_MS, and returns them. */
  take: (expected: number) => Promise<Call[]>
}

const LOOK_EVERY_MS = 100
/** Longer than the first pause before a retry, so that a late call does not count as lost. */
const SILENCE_MAX_MS = 15_000

export async function startReceiver(adopt: (child: ChildProcess) => unknown): Promise<Receiver> {
  const child = fork(join(import.meta.dirname, 'receiver.ts'), { serialization: 'advanced' })
  adopt(child)
  const gone = once(child, 'exit').then(() => {
    throw new Error('The receiver exited')
  })
  gone.catch(() => {})
  const said = async () => (await Promise.race([once(child, 'message'), gone]))[0]
  const ask = (question: Question) => {
    child.send(question)
    return said()
  }
  const port: number = await said()

  async function take(expected: number): Promise<Call[]> {
    let [count, since] = [0, Date.now()]
    while (count < expected && Date.now() - since < SILENCE_MAX_MS) {
      const now: number = await ask('how many')
      if (now > count) [count, since] = [now, Date.now()]
      await sleep(LOOK_EVERY_MS)
    }
    return ask('which')
  }
  return { child, url: `http://127.0.0.1:${port}`, take }
}
