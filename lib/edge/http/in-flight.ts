import { env } from '#lib/base/env.ts'
import { refuse } from '#lib/base/errors.ts'
import { networkOf } from '#lib/base/network.ts'
import { processWide } from '#lib/base/process-wide.ts'

type Policy = 'ip' | 'token' | 'export'

interface Gate {
  inFlight: number
  /** Admits a waiting request each; a Set keeps the order and deletes in constant time. */
  waiting: Set<() => void>
}

/**
 * Exports of an account at the same time, each with up to 2 MiB of rows and text that its client has
 * yet to read. One that moves is never cut, so the places of an address alone would allow 600.
 */
const EXPORTS_MAX = 8
/** Time that a request waits for a place, all its waits together. */
export const WAIT_MAX_MS = 2_000
const RETRY_AFTER_S = 1

const gates = processWide('in-flight', () => new Map<string, Gate>())

/** The places of one request within the limits of its token and address, in this process. */
export class Places {
  #held: { name: string; max: number }[] = []
  #deadline = Infinity

  /** Takes a place, or waits for one in the order of arrival; refuses after WAIT_MAX_MS. */
  async take(policy: Policy, key: string): Promise<void> {
    const { RATE_IP_IN_FLIGHT: ip, RATE_TOKEN_IN_FLIGHT: token } = env()
    const max = { ip, token, export: EXPORTS_MAX }[policy]
    if (max === 0) return
    const wanted = { name: `${policy} ${policy === 'ip' ? networkOf(key) : key}`, max }
    if (tryEnter(wanted.name, max)) {
      this.#held.push(wanted)
      return
    }
    // One token's queue must not use up the places of other tokens at the same address.
    const before = this.#held
    this.release()
    this.#deadline = Math.min(this.#deadline, performance.now() + WAIT_MAX_MS)
    for (const place of [wanted, ...before]) {
      await enterGate(place.name, place.max, this.#deadline)
      this.#held.push(place)
    }
  }

  release(): void {
    const held = this.#held
    this.#held = []
    for (const { name } of held) leaveGate(name)
  }
}

function gateOf(name: string): Gate {
  const known = gates.get(name)
  if (known) return known
  const gate = { inFlight: 0, waiting: new Set<() => void>() }
  gates.set(name, gate)
  return gate
}

function tryEnter(name: string, max: number): boolean {
  const gate = gateOf(name)
  if (gate.inFlight >= max) return false
  gate.inFlight++
  return true
}

/** Takes a place in a gate, or waits for one; rejects with `too_many_requests` at the deadline. */
export function enterGate(name: string, max: number, deadline: number): Promise<void> {
  if (tryEnter(name, max)) return Promise.resolve()
  const { waiting } = gateOf(name)
  return new Promise((resolve, reject) => {
    const admit = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      waiting.delete(admit)
      reject(refuse('too_many_requests', { retryAfterS: RETRY_AFTER_S }))
    }, deadline - performance.now())
    waiting.add(admit)
  })
}

/** Passes the place to the request that has waited longest. */
export function leaveGate(name: string): void {
  const gate = gateOf(name)
  const [admit] = gate.waiting
  if (admit) {
    gate.waiting.delete(admit)
    admit()
  } else if (--gate.inFlight === 0) gates.delete(name)
}
