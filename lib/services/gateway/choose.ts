import { refuse } from '#lib/base/errors.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'
import { simulator } from '#lib/services/gateway/simulator.ts'

/** Returns the gateway of a mode. Live mode has no gateway while no bank is configured. */
export function gatewayOf(mode: Mode): Gateway {
  return gateways()[mode] ?? refuseMode()
}

export function isModeOpen(mode: Mode): boolean {
  return gateways()[mode] !== undefined
}

function gateways(): Partial<Record<Mode, Gateway>> {
  return { test: simulator }
}

function refuseMode(): never {
  throw refuse('live_mode_disabled')
}
