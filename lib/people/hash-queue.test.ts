import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import {
  knownCaller,
  requireHashPlace,
  unknownCaller,
  withHashPlace,
} from '#lib/people/password.ts'

afterEach(() => {
  vi.runAllTimers()
  vi.useRealTimers()
})

/** Hashes that run until they are finished, by the order in which they started. */
function openQueue() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const started: string[] = []
  const finishers: (() => void)[] = []
  const outcomes: Promise<'done' | 'refused'>[] = []
  return {
    started,
    join(name: string, caller: ReturnType<typeof knownCaller>) {
      const work = async () => {
        started.push(name)
        await new Promise<void>(resolve => finishers.push(resolve))
      }
      const outcome = withHashPlace(caller, work).then(
        () => 'done' as const,
        error => (error.code === 'service_unavailable' ? 'refused' : Promise.reject(error)),
      )
      outcomes.push(outcome)
      return outcome
    },
    async finishOne() {
      finishers.shift()?.()
      await turn()
      vi.advanceTimersByTime(1)
      await turn()
    },
    /** Finishes all hashes and returns how many callers were refused. */
    async finishAll() {
      for (let done = 0; done < outcomes.length; done++) await this.finishOne()
      const results = await Promise.all(outcomes)
      return results.filter(result => result === 'refused').length
    },
  }
}

const networkOfNumber = (nth: number) => unknownCaller(`198.51.${nth}.1`)

test('a known device starts at once beside a full queue of unknown ones, and later ones before them', async () => {
  const queue = openQueue()
  for (let nth = 0; nth < 80; nth++) queue.join(`guess ${nth}`, networkOfNumber(nth))
  queue.join('known 1', knownCaller('ana'))
  await turn()
  expect(queue.started).toEqual(['guess 0', 'known 1'])
  queue.join('known 2', knownCaller('ana'))
  queue.join('known 3', knownCaller('bia'))
  await queue.finishOne()
  await queue.finishOne()
  expect(queue.started).toEqual(['guess 0', 'known 1', 'known 2', 'known 3'])
  await queue.finishOne()
  expect(queue.started.at(-1)).toBe('guess 1')
  expect(() => requireHashPlace(knownCaller('ana'))).not.toThrow()
  // One was checked and 60 waited.
  expect(await queue.finishAll()).toBe(19)
})

test('a network has at most twelve waiting places, and networks are served in turn', async () => {
  const queue = openQueue()
  for (let nth = 0; nth < 16; nth++) queue.join(`busy ${nth}`, unknownCaller('2001:db8:7::1'))
  expect(() => requireHashPlace(unknownCaller('2001:db8:7:ffff::1'))).toThrow('unavailable')
  expect(() => requireHashPlace(unknownCaller('2001:db8:8::1'))).not.toThrow()
  queue.join('other 0', unknownCaller('2001:db8:8::1'))
  queue.join('other 1', unknownCaller('2001:db8:8::1'))
  await turn()
  for (let nth = 0; nth < 4; nth++) await queue.finishOne()
  expect(queue.started).toEqual(['busy 0', 'busy 1', 'other 0', 'busy 2', 'other 1'])
  expect(await queue.finishAll()).toBe(3)
})

test('a caller is refused after five seconds, and the queue goes on', async () => {
  const queue = openQueue()
  queue.join('slow', networkOfNumber(1))
  const late = queue.join('late', networkOfNumber(2))
  vi.advanceTimersByTime(5_000)
  expect(await late).toBe('refused')
  const next = queue.join('next', networkOfNumber(3))
  await queue.finishAll()
  expect(queue.started).toEqual(['slow', 'next'])
  expect(await next).toBe('done')
})

test('after a hash for an unknown device the next one waits for as long as it took', async () => {
  const queue = openQueue()
  queue.join('guess 0', networkOfNumber(1))
  queue.join('guess 1', networkOfNumber(2))
  await turn()
  vi.advanceTimersByTime(40)
  await queue.finishOne()
  queue.join('known 1', knownCaller('ana'))
  queue.join('known 2', knownCaller('bia'))
  vi.advanceTimersByTime(38)
  await turn()
  expect(queue.started).toEqual(['guess 0', 'known 1', 'known 2'])
  await queue.finishOne()
  await turn()
  expect(queue.started.at(-1)).toBe('guess 1')
  expect(await queue.finishAll()).toBe(0)
})
