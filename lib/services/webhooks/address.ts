import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { env } from '#lib/base/env.ts'

export interface Address {
  address: string
  family: 4 | 6
}

/**
 * Where no webhook goes, after the special-purpose registries of IANA (RFC 6890 and its updates).
 * The names are all that a merchant learns of an address.
 */
const DENIED = {
  loopback: ['127.0.0.0/8', '::1/128'],
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  private: [
    ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'],
    ...['fc00::/7', 'fec0::/10'],
  ],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  reserved: [
    // Connecting to "no address" ends in this machine.
    ...['0.0.0.0/8', '::/128'],
    ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15', '198.51.100.0/24'],
    ...['203.0.113.0/24', '240.0.0.0/4'],
    // Public by its number, but inside Azure each machine's own platform service.
    '168.63.129.16/32',
    // These carry an IPv4 address inside: compatible, translated, NAT64, 6to4 and Teredo.
    ...['::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32'],
    ...['100::/64', '2001::/23', '2001:db8::/32', '3fff::/20', '5f00::/16'],
  ],
}

const CLASSES = Object.entries(DENIED).map(([name, ranges]) => ({ name, list: listOf(ranges) }))
const GLOBAL_UNICAST = listOf(['2000::/3'])

/** An address in the one form that is compared and connected to; null when it is none. */
export function readAddress(text: string): (Address & { mapped: boolean }) | null {
  const family = isIP(text)
  if (family === 4) return { address: text, family, mapped: false }
  if (family !== 6) return null
  // A zone names an interface of ours; the URL parser knows none and writes the rest in one form.
  const plain = URL.parse(`http://[${text.replace(/%.*$/, '')}]`)?.hostname.slice(1, -1)
  if (!plain) return null
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(plain) ?? []
  if (high === undefined || low === undefined) return { address: plain, family, mapped: false }
  const bytes = [high, low].flatMap(part => [parseInt(part, 16) >> 8, parseInt(part, 16) & 255])
  return { address: bytes.join('.'), family: 4, mapped: true }
}

/** What keeps webhooks from this address, as a class such as "private"; null when they may go. */
export function denialOf(text: string, allowed: RangeList = allowedRanges()): string | null {
  const found = readAddress(text)
  if (!found) return 'reserved'
  if (allowed.has(found)) return null
  const denied = CLASSES.find(({ list }) => list.has(found))
  if (denied) return denied.name
  // No honest answer maps a public IPv4 address into IPv6, and IPv6 grows outside of 2000::/3.
  return found.mapped || (found.family === 6 && !GLOBAL_UNICAST.has(found)) ? 'reserved' : null
}

/** What the operator opened; said nothing, a machine of one person may call itself. */
export function allowedRanges(): RangeList {
  const { WEBHOOK_ALLOW_CIDRS = '', TROCO_ENV } = env()
  const key = `${TROCO_ENV} ${WEBHOOK_ALLOW_CIDRS}`
  if (kept?.key === key && performance.now() < kept.until) return kept.ranges
  const own = TROCO_ENV === 'local' ? [...DENIED.loopback, ...ownAddresses()] : []
  const ranges = listOf(WEBHOOK_ALLOW_CIDRS ? WEBHOOK_ALLOW_CIDRS.split(',') : own)
  kept = { key, until: performance.now() + KEPT_MS, ranges }
  return ranges
}

/** Asking the system costs as much as a call on loopback, and its addresses seldom change. */
const KEPT_MS = 5_000
let kept: { key: string; until: number; ranges: RangeList } | undefined

/** Where a connection ends in this machine, whatever name led there. */
export function ownRanges(): RangeList {
  return listOf([...DENIED.loopback, '0.0.0.0/8', '::/128', ...ownAddresses()])
}

function ownAddresses(): string[] {
  const found = Object.values(networkInterfaces()).flatMap(entries => entries ?? [])
  // Some systems write the zone of a link-local address after it.
  const addresses = found.map(({ address }) => address.replace(/%.*$/, ''))
  return addresses.map(address => `${address}/${isIP(address) === 4 ? 32 : 128}`)
}

interface RangeList {
  has(address: Address): boolean
}

/** One list for each family: a single one would let `::/0` mean every IPv4 address too. */
function listOf(ranges: string[]): RangeList {
  const lists = { 4: new BlockList(), 6: new BlockList() }
  for (const range of ranges) {
    const [address = '', bits = ''] = range.trim().split('/')
    const family = isIP(address) === 4 ? 4 : 6
    lists[family].addSubnet(address, Number(bits), `ipv${family}`)
  }
  return { has: ({ address, family }) => lists[family].check(address, `ipv${family}`) }
}
