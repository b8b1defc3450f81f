import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Address, hostnameOf } from '#lib/core/addresses.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { portOf, type Target } from '#lib/webhooks/target.ts'

/** Long enough for a busy receiver's next event, short enough that few connections are dead. */
const IDLE_MS = 5_000
const IDLE_MAX = { perAddress: 4, total: 64 }
/** Maximum response header. Set here, because a command line flag can raise Node's default. */
const HEAD_BYTES_MAX = 16 * 1024

const agents = { http: new http.Agent(agentOptions()), https: new https.Agent(agentOptions()) }
for (const agent of [agents.http, agents.https]) {
  const { getName, keepSocketAlive } = Object.getPrototypeOf(agent) as http.Agent
  // The connection's host is an IP address: receivers that share it must not share a connection.
  agent.getName = options => `${getName.call(agent, options)}|${hostHeader(options)}`
  agent.keepSocketAlive = (socket: Duplex) =>
    countIdle() < IDLE_MAX.total && keepSocketAlive.call(agent, socket)
}

/** Connects only to this address; Host, SNI and the certificate check use the URL's name. */
export function buildPinnedOptions(target: Target, { address }: Address, isPooled: boolean) {
  const name = hostnameOf(target.url)
  const isSecure = target.url.protocol === 'https:'
  return {
    host: address,
    port: portOf(target.url),
    // An IP address needs no lookup; a call to this function means that the pin is broken.
    lookup: refuseLookup,
    agent: isPooled && (isSecure ? agents.https : agents.http),
    // Empty for an IP address, which has no SNI: the certificate must then match the address.
    servername: isIP(name) ? '' : name,
    minVersion: 'TLSv1.2' as const,
    rejectUnauthorized: true,
    maxHeaderSize: HEAD_BYTES_MAX,
    insecureHTTPParser: false,
  }
}

/** Returns the addresses in attempt order: addresses with an idle connection first. */
export function orderAddresses(target: Target): Address[] {
  const agent = target.url.protocol === 'https:' ? agents.https : agents.http
  const connected = new Set(
    Object.values(agent.freeSockets)
      .flatMap(sockets => sockets ?? [])
      .map(socket => socket.remoteAddress),
  )
  return target.addresses.toSorted(
    (one, other) => Number(connected.has(other.address)) - Number(connected.has(one.address)),
  )
}

export function closeConnections(): void {
  agents.http.destroy()
  agents.https.destroy()
}

function agentOptions(): http.AgentOptions {
  return { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: IDLE_MAX.perAddress }
}

function countIdle(): number {
  const lists = [agents.http, agents.https].flatMap(agent => Object.values(agent.freeSockets))
  return lists.reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0)
}

function hostHeader(options: http.ClientRequestArgs | undefined): string {
  return String((options?.headers as http.OutgoingHttpHeaders | undefined)?.host ?? '')
}

function refuseLookup(): never {
  throw new Invariant('a webhook connects to checked addresses only')
}
