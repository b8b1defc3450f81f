import { processWide } from '#lib/base/process-wide.ts'
import { openApiPix } from '#lib/services/gateway/api-pix/adapter.ts'
import { lookupBank } from '#lib/services/gateway/bank-hosts.ts'
import type { Adapter, Connection } from '#lib/services/gateway/connection.ts'
import { openEfi } from '#lib/services/gateway/efi/adapter.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'
import type { ConnectionKind } from '#lib/services/gateway/schema.ts'
import { simulator } from '#lib/services/gateway/simulator.ts'

const ADAPTERS: Record<ConnectionKind, Adapter> = {
  simulator: () => simulator,
  api_pix: openApiPix,
  efi: openEfi,
}
type Adapters = ReadonlyMap<string, Adapter>
const own = processWide('own adapters', () => ({ adapters: new Map() as Adapters }))

/** Adapters of this process that take the place of those above; each change makes a new map. */
export function ownAdapters(): Adapters {
  return own.adapters
}

/** Sets the adapter of a kind of connection in this process. */
export function registerAdapter(kind: ConnectionKind, adapter: Adapter): void {
  own.adapters = new Map([...own.adapters, [kind, adapter]])
}

/** Undoes every `registerAdapter`. */
export function restoreAdapters(): void {
  own.adapters = new Map()
}

/** Returns undefined for a kind that a later version has stored. */
export function adapterOf(kind: string): Adapter | undefined {
  return own.adapters.get(kind) ?? (ADAPTERS as Record<string, Adapter | undefined>)[kind]
}

/** Opens a connection beside those of the table. Throws why the adapter of its kind cannot; null: there is none. */
export function tryToOpen(connection: Connection): Gateway | null {
  return adapterOf(connection.kind)?.(connection, lookupBank) ?? null
}
