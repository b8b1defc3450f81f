import type { LookupFunction } from 'node:net'
import type { Gateway } from '#lib/banks/gateway.ts'
import { ConnectionSettings, type Environment } from '#lib/banks/schema.ts'
import type { ConnectionKind } from '#lib/banks/states.ts'
import { processWide } from '#lib/core/process-wide.ts'
import type { Prisma } from '#lib/db/client.ts'

/** What an adapter knows of its connection. */
export interface Connection {
  id: string
  name: string
  kind: ConnectionKind
  environment: Environment | null
  profile: string | null
  settings: Prisma.JsonValue
  /** Text of the credentials as they were added; null if there are none. */
  credentials: string | null
  receivingKeys: string[]
  payingKey: string | null
}

/** Names of the connections that this process has read, by id. They are unique and never change. */
const names = processWide('connection names', () => new Map<string, string>())

export function rememberName<Named extends { id: string; name: string }>(connection: Named): Named {
  names.set(connection.id, connection.name)
  return connection
}

export function connectionName(id: string): string {
  return names.get(id) ?? 'unknown'
}

/** Columns of a Connection, except for its id and credentials. */
export const CONNECTION_COLUMNS = {
  name: true,
  kind: true,
  environment: true,
  profile: true,
  settings: true,
  receivingKeys: true,
  payingKey: true,
} as const

/** The operator's number, else that of the bank's profile, else the most cautious one. */
export function payoutsInFlightOf(
  settings: Prisma.JsonValue,
  { payoutsInFlight = 1 }: Gateway,
): number {
  return ConnectionSettings.safeParse(settings).data?.payouts_in_flight ?? payoutsInFlight
}

/** Who may send notices of a connection. */
export interface NoticeRules {
  /** The secret in the address is derived from this number. */
  secretNumber: number
  rotatedAt: Date | null
  /** Ranges of addresses; empty: all. */
  cidrs: string[]
  /** Whether the proxy must have verified the client certificate. */
  isCertificateRequired: boolean
}

/**
 * Opens the gateway of a connection; null if it lacks what the adapter needs. The adapter's sockets resolve
 * names by `lookup`, which finds no private addresses in production.
 */
export type Adapter = (connection: Connection, lookup: LookupFunction) => Gateway | null
