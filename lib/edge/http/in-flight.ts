import { env } from '#lib/base/env.ts'
import { Gate } from '#lib/base/gate.ts'
import { networkOf } from '#lib/base/network.ts'
import { processWide } from '#lib/base/process-wide.ts'

type Policy = 'ip' | 'token' | 'export'

/**
 * Exports of an account at the same time, each with up to 2 MiB of rows and text that its client has
 * yet to read. One that moves is never cut, so the places of an address alone would allow 600.
 */
const EXPORTS_MAX = 8
/** Time that a request waits for a place, all its waits together. */
export const WAIT_MAX_MS = 2_000

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
    if (gateOf(wanted.name).tryEnter(max)) {
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
  const gate = new Gate()
  gates.set(name, gate)
  return gate
}

/** Takes a place in a gate, or waits for one; rejects with `too_many_requests` at the deadline. */
export async function enterGate(name: string, max: number, deadline: number): Promise<void> {
  await gateOf(name).enter(max, deadline)
}

/** Passes the place to the request that has waited longest. */
export function leaveGate(name: string): void {
  const gate = gateOf(name)
  gate.leave()
  if (gate.isEmpty) gates.delete(name)
}
