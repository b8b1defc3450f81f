import { refuse } from '#lib/base/errors.ts'
import type { Mode } from '#lib/base/mode.ts'
import { processWide } from '#lib/base/process-wide.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'
import { simulator } from '#lib/services/gateway/simulator.ts'

/** Id of the simulator's row, which a migration inserts. Columns that name a connection default to it. */
export const SIMULATOR_CONNECTION_ID = '00000000-0000-7000-8000-000000000001'

/** Returns the gateway of a mode. Live mode has no gateway while no bank is configured. */
export function gatewayOf(mode: Mode): Gateway {
  return gateways[mode] ?? refuseMode()
}

export function isModeOpen(mode: Mode): boolean {
  return gateways[mode] !== undefined
}

const gateways = processWide(
  'gateways',
  (): Partial<Record<Mode, Gateway>> => ({
    test: simulator,
  }),
)

/** Replaces the gateway of a mode in this process. */
export function installGateway(mode: Mode, gateway: Gateway): void {
  gateways[mode] = gateway
}

function refuseMode(): never {
  throw refuse('live_mode_disabled')
}
