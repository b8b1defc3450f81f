import { openApiPix } from '#lib/banks/api-pix/adapter.ts'
import { lookupBank } from '#lib/banks/bank-hosts.ts'
import type { Adapter, Connection } from '#lib/banks/connection.ts'
import { openEfi } from '#lib/banks/efi/adapter.ts'
import type { Gateway } from '#lib/banks/gateway.ts'
import { simulator } from '#lib/banks/simulator.ts'
import type { ConnectionKind } from '#lib/banks/states.ts'
import { processWide } from '#lib/core/process-wide.ts'

const ADAPTERS: Record<ConnectionKind, Adapter> = {
  simulator: () => simulator,
  api_pix: openApiPix,
  efi: openEfi,
}
type Adapters = ReadonlyMap<string, Adapter>
const registered = processWide('registered adapters', () => ({ adapters: new Map() as Adapters }))

/** Adapters of this process that take the place of those above; each change makes a new map. */
export function registeredAdapters(): Adapters {
  return registered.adapters
}

/** Sets the adapter of a kind of connection in this process. */
export function registerAdapter(kind: ConnectionKind, adapter: Adapter): void {
  registered.adapters = new Map([...registered.adapters, [kind, adapter]])
}

/** Undoes every `registerAdapter`. */
export function unregisterAdapters(): void {
  registered.adapters = new Map()
}

/** Returns undefined for a kind that a later version has stored. */
export function adapterOf(kind: string): Adapter | undefined {
  return registered.adapters.get(kind) ?? (ADAPTERS as Record<string, Adapter | undefined>)[kind]
}

/** Opens a connection. Returns null without an adapter, or if the connection lacks something; throws the adapter's reason. */
export function tryToOpen(connection: Connection): Gateway | null {
  return adapterOf(connection.kind)?.(connection, lookupBank) ?? null
}
