import { TrocoError } from '#lib/errors.ts'
import type { Gateway } from '#lib/gateway/gateway.ts'
import { simulator } from '#lib/gateway/simulator.ts'
import { isOpen, type Mode } from '#lib/mode.ts'

/** The gateway of a mode. Live mode is closed until the operator has configured a bank. */
export function gatewayOf(mode: Mode): Gateway {
  if (!isOpen(mode)) throw new TrocoError('live_mode_disabled', 'Live mode is not enabled')
  return simulator
}
