import { lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { openApiPix } from '#lib/banks/api-pix/adapter.ts'
import type { Adapter, Connection } from '#lib/banks/connection.ts'
import { openEfi } from '#lib/banks/efi/adapter.ts'
import type { Gateway } from '#lib/banks/gateway.ts'
import { simulator } from '#lib/banks/simulator.ts'
import type { ConnectionKind } from '#lib/banks/states.ts'
import { createRangeList, findDeniedClass, hostnameOf } from '#lib/core/addresses.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env } from '#lib/core/settings.ts'
import type { Prisma } from '#lib/db/client.ts'

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

/** A bank in production has a public address, unless the operator names its range. */
function isPrivate(address: string): boolean {
  const { TROCO_ENV, BANK_ALLOW_CIDRS } = env()
  if (TROCO_ENV === 'local') return false
  const allowed = createRangeList(BANK_ALLOW_CIDRS ? BANK_ALLOW_CIDRS.split(',') : [])
  return findDeniedClass(address, allowed) !== null
}

/**
 * Resolves a name for a socket of an adapter; an error if one of its addresses is private. Node calls it
 * for no host that is an address: `findPrivateAddress` judges those.
 */
export const lookupBank: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found = []) => {
    const [first] = found
    if (error || !first) return callback(error, '')
    if (found.some(({ address }) => isPrivate(address))) {
      const message = `${hostname} leads to a private address, which BANK_ALLOW_CIDRS does not contain`
      return callback(Object.assign(new Error(message), { code: 'PRIVATE_ADDRESS' }), '')
    }
    if (options.all) callback(null, found)
    else callback(null, first.address, first.family)
  })
}

/** Returns the first private address among the URLs and addresses in a connection's settings, or null. */
export function findPrivateAddress(settings: Prisma.JsonValue): string | null {
  if (typeof settings === 'string') {
    const url = URL.parse(settings)
    const host = url ? hostnameOf(url) : settings
    return isIP(host) !== 0 && isPrivate(host) ? host : null
  }
  if (settings === null || typeof settings !== 'object') return null
  for (const value of Object.values(settings)) {
    const found = findPrivateAddress(value as Prisma.JsonValue)
    if (found !== null) return found
  }
  return null
}
