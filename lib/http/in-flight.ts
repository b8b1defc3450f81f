import { networkOf } from '#lib/core/addresses.ts'
import { enterGate, gateOf, leaveGate } from '#lib/core/concurrency.ts'
import { env } from '#lib/core/settings.ts'

type Policy = 'ip' | 'token' | 'export'

/**
 * Exports of an account at the same time, each with up to 2 MiB of rows and text that its client has
 * yet to read. One that moves is never cut, so the places of an address alone would allow 600.
 */
const EXPORTS_MAX = 8
/** Time that a request waits for a place, all its waits together. */
export const WAIT_MAX_MS = 2_000

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
