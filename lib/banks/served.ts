import { lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { openApiPix } from '#lib/banks/api-pix/adapter.ts'
import { openEfi } from '#lib/banks/efi/adapter.ts'
import {
  type Adapter,
  CONNECTION_COLUMNS,
  type Connection,
  type Gateway,
  type NoticeRules,
  payoutsInFlightOf,
} from '#lib/banks/gateway.ts'
import type { Environment } from '#lib/banks/schema.ts'
import { simulator } from '#lib/banks/simulator.ts'
import type { ConnectionKind } from '#lib/banks/states.ts'
import { createRangeList, findDeniedClass, hostnameOf } from '#lib/core/addresses.ts'
import { isTrocoError, refuse, setupError } from '#lib/core/errors.ts'
import { unseal } from '#lib/core/keys.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env } from '#lib/core/settings.ts'
import { db, type Prisma } from '#lib/db/client.ts'

const ADAPTERS: Record<ConnectionKind, Adapter> = {
  simulator: () => simulator,
  api_pix: openApiPix,
  efi: openEfi,
}
type Adapters = ReadonlyMap<string, Adapter>
/** Sets the adapter of a kind of connection in this process. */
export function registerAdapter(kind: ConnectionKind, adapter: Adapter): void {
  choice.registered = new Map([...choice.registered, [kind, adapter]])
}

/** Undoes every `registerAdapter`. */
export function unregisterAdapters(): void {
  choice.registered = new Map()
}

/** Returns undefined for a kind that a later version has stored. */
export function adapterOf(kind: string): Adapter | undefined {
  return choice.registered.get(kind) ?? (ADAPTERS as Record<string, Adapter | undefined>)[kind]
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

/** Id of the simulator's row, which a migration inserts. Columns that name a connection default to it. */
export const SIMULATOR_CONNECTION_ID = '00000000-0000-7000-8000-000000000001'
/** Age at which the table is read again: a change reaches every process within it. */
const READ_AGAIN_MS = 5_000
/** Notices name unknown ids at any rate, so the table is read for them once per second only. */
const READ_FOR_NOTICE_MS = 1_000

/** A connection whose charges and orders this process can serve. */
export interface ServedConnection {
  id: string
  name: string
  gateway: Gateway
  /** Maximum payouts in flight at a bank, of all processes. */
  payoutsInFlight: number
}

const NO_ADAPTER = 'this version has no adapter for it'
const INCOMPLETE = 'its keys or credentials are not those that its adapter needs'

const SIMULATOR: Connection = {
  id: SIMULATOR_CONNECTION_ID,
  name: 'simulator',
  kind: 'simulator' as const,
  environment: null,
  profile: null,
  settings: {},
  credentials: null,
  receivingKeys: [],
  payingKey: null,
}

interface Bank {
  connection: Omit<Connection, 'credentials'>
  isAssignable: boolean
  isClosed: boolean
  notices: NoticeRules
  version: string
  /** Null without an adapter that can serve it. */
  gateway: Gateway | null
  /** Why there is no gateway, for the operator; null if there is one. */
  flaw: string | null
}

const choice = processWide('connections', () => ({
  /** Connections to banks by id, as last read. */
  banks: new Map<string, Bank>(),
  readAt: Number.NEGATIVE_INFINITY,
  /** Adapters of this process that take the place of those above; each change makes a new map. */
  registered: new Map() as Adapters,
  /** `registered` when `banks` was read. */
  adapters: null as Adapters | null,
  reading: null as Promise<void> | null,
}))

/** The next look in this process reads the table: a page shows what its request changed. */
export function expireBanks(): void {
  choice.readAt = Number.NEGATIVE_INFINITY
}

/** Returns the name of a connection to a bank that this process has read. Names are unique and never change. */
export function connectionName(id: string): string {
  return choice.banks.get(id)?.connection.name ?? 'unknown'
}

/** Returns the connection that a new charge or withdrawal begins with; null if live mode has none. */
export function connectionIn(mode: Mode, assignedId: string | null | undefined): string | null {
  return mode === 'test' ? SIMULATOR_CONNECTION_ID : (assignedId ?? null)
}

/** Refuses if this process has no adapter for the connection. */
export async function gatewayOfConnection(id: string): Promise<Gateway> {
  const gateway = id === SIMULATOR_CONNECTION_ID ? simulatorGateway() : await findBank(id)
  if (!gateway) throw refuse('service_unavailable')
  return gateway
}

/** Returns why this process cannot call the bank; null if it can. */
export async function findFlaw(id: string): Promise<string | null> {
  const gateway = await findBank(id)
  return gateway ? null : (choice.banks.get(id)?.flaw ?? NO_ADAPTER)
}

/**
 * Lists the connections of accounts: the simulator and, of banks, those for production, unless others are
 * named. A closed one begins nothing new, and ends the charges and orders that it has.
 */
export async function listServed(
  environments: readonly Environment[] = ['production'],
): Promise<ServedConnection[]> {
  const simulated = simulatorGateway()
  const served = simulated ? [toServed(SIMULATOR, simulated)] : []
  for (const { connection, gateway } of await listBanks())
    if (gateway && environments.some(name => name === connection.environment))
      served.push(toServed(connection, gateway))
  return served
}

/** Finds a connection to a bank, also for homologation; null if this process cannot call the bank. */
export async function findReachable(id: string): Promise<ServedConnection | null> {
  await findBank(id)
  const { connection, gateway = null } = choice.banks.get(id) ?? {}
  return connection && gateway ? toServed(connection, gateway) : null
}

function toServed({ id, name, settings }: Bank['connection'], gateway: Gateway): ServedConnection {
  return { id, name, gateway, payoutsInFlight: payoutsInFlightOf(settings, gateway) }
}

/** Test mode reads no table. */
function simulatorGateway(): Gateway | null {
  return tryToOpen(SIMULATOR)
}

/** Returns null without an adapter that can serve it. An unknown id is read at once. */
export async function findBank(id: string): Promise<Gateway | null> {
  if (mustReadAgain(READ_AGAIN_MS) || !choice.banks.has(id)) await readBanks()
  return choice.banks.get(id)?.gateway ?? null
}

/** Finds a connection to a bank, open or closed, with its rules for notices. Returns null if there is none. */
export async function findBankOfNotice(
  id: string,
): Promise<Pick<Bank, 'gateway' | 'notices'> | null> {
  const maxAgeMs = choice.banks.has(id) ? READ_AGAIN_MS : READ_FOR_NOTICE_MS
  if (mustReadAgain(maxAgeMs)) await readBanks()
  return choice.banks.get(id) ?? null
}

/** Lists the connections to banks, with or without a gateway. */
export async function listBanks(): Promise<Bank[]> {
  if (mustReadAgain(READ_AGAIN_MS)) await readBanks()
  return [...choice.banks.values()]
}

function mustReadAgain(maxAgeMs: number): boolean {
  return choice.adapters !== choice.registered || performance.now() - choice.readAt > maxAgeMs
}

function readBanks(): Promise<void> {
  choice.reading ??= readAgain().finally(() => {
    choice.reading = null
  })
  return choice.reading
}

/**
 * Keeps the gateways of unchanged rows: an adapter holds connections and a token. One that could not
 * be opened is tried again at each reading: it may have lacked a file or an answer.
 */
async function readAgain(): Promise<void> {
  const began = performance.now()
  const columns = { id: true, ...CONNECTION_COLUMNS, isAssignable: true, disabledAt: true } as const
  const rules = {
    noticeSecretNumber: true,
    noticeRotatedAt: true,
    noticeCidrs: true,
    noticeCertificate: true,
  }
  const rows = await db().connection.findMany({
    where: { kind: { not: 'simulator' } },
    select: { ...columns, ...rules, sealedCredentials: true },
  })
  const adapters = choice.registered
  const banks = rows.map(({ sealedCredentials: sealed, isAssignable, disabledAt, ...columns }) => {
    const { noticeSecretNumber, noticeRotatedAt, noticeCidrs, noticeCertificate, ...row } = columns
    const notices = {
      secretNumber: noticeSecretNumber,
      rotatedAt: noticeRotatedAt,
      cidrs: noticeCidrs,
      isCertificateRequired: noticeCertificate,
    }
    const connection = row as Bank['connection']
    const version = JSON.stringify([row, sealed && Buffer.from(sealed).toString('base64')])
    const known = choice.banks.get(row.id)
    const isKnown = known?.version === version && choice.adapters === adapters
    const isOpen = isKnown && known.gateway !== null
    const opened = isOpen ? known : openGateway(connection, sealed, !isKnown)
    const { gateway, flaw } = opened
    const isClosed = disabledAt !== null
    return { connection, isAssignable, isClosed, notices, version, gateway, flaw }
  })
  choice.banks = new Map(banks.map(bank => [bank.connection.id, bank]))
  choice.adapters = adapters
  choice.readAt = began
}

/** A connection that cannot be served must not keep the others from it. */
function openGateway(
  connection: Bank['connection'],
  sealed: Uint8Array | null,
  isFirstTime: boolean,
): Pick<Bank, 'gateway' | 'flaw'> {
  try {
    const address = findPrivateAddress(connection.settings)
    if (address !== null)
      throw setupError(`Its settings lead to ${address}: BANK_ALLOW_CIDRS does not contain it`)
    const credentials = sealed && unseal(sealed, connection.id, 'bank-credentials')
    const adapter = adapterOf(connection.kind)
    const gateway = tryToOpen({ ...connection, credentials })
    return { gateway, flaw: gateway ? null : adapter ? INCOMPLETE : NO_ADAPTER }
  } catch (error) {
    const fields = { err: error, connectionId: connection.id }
    if (isFirstTime) log().error(fields, 'connection cannot be used')
    // The text of another error may contain a part of the credentials.
    return { gateway: null, flaw: isTrocoError(error) ? error.message : INCOMPLETE }
  }
}
