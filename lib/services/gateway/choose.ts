import { refuse } from '#lib/base/errors.ts'
import { isOpen, type Mode } from '#lib/base/mode.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'
import { simulator } from '#lib/services/gateway/simulator.ts'

/** The gateway of a mode. Live mode is closed until the operator has configured a bank. */
export function gatewayOf(mode: Mode): Gateway {
  if (!isOpen(mode)) throw refuse('live_mode_disabled')
  return simulator
}
