import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net'
import { networkInterfaces } from 'node:os'

export interface Address {
  address: string
  family: 4 | 6
}

export const LOOPBACK = ['127.0.0.0/8', '::1/128']

/** From IANA's special-purpose registries (RFC 6890 and updates). Merchants see only the class. */
const DENIED = {
  loopback: LOOPBACK,
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  private: [
    '10.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '100.64.0.0/10',
    'fc00::/7',
    'fec0::/10',
  ],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  reserved: [
    // Connecting to an unspecified address reaches this machine.
    '0.0.0.0/8',
    '::/128',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '240.0.0.0/4',
    // Public, but inside Azure the address of each machine's platform service.
    '168.63.129.16/32',
    // Ranges that embed an IPv4 address: compatible, translated, NAT64, 6to4 and Teredo.
    '::/96',
    '::ffff:0:0:0/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '2002::/16',
    '2001::/32',
    '100::/64',
    '2001::/23',
    '2001:db8::/32',
    '3fff::/20',
    '5f00::/16',
  ],
}

const CLASSES = Object.entries(DENIED).map(([name, ranges]) => ({
  name,
  list: createRangeList(ranges),
}))
const GLOBAL_UNICAST = createRangeList(['2000::/3'])

/** Returns the host without IPv6 brackets and without the final dot of a name. */
export function hostnameOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

/** Normalizes an address for checking and connecting. Returns null for any other text. */
export function parseAddress(text: string): (Address & { isMapped: boolean }) | null {
  const family = isIP(text)
  if (family === 4) return { address: text, family, isMapped: false }
  if (family !== 6) return null
  // Removes the zone, which the URL parser rejects. The parser normalizes the rest.
  const plain = URL.parse(`http://[${text.replace(/%.*/s, '')}]`)?.hostname.slice(1, -1)
  if (!plain) return null
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(plain) ?? []
  if (high === undefined || low === undefined) return { address: plain, family, isMapped: false }
  const bytes = [high, low].flatMap(part => [parseInt(part, 16) >> 8, parseInt(part, 16) & 255])
  return { address: bytes.join('.'), family: 4, isMapped: true }
}

/** Returns the denied class of the address, such as "private", or null. */
export function findDeniedClass(text: string, allowed: RangeList): string | null {
  const parsed = parseAddress(text)
  if (!parsed) return 'reserved'
  if (allowed.has(parsed)) return null
  const denied = CLASSES.find(({ list }) => list.has(parsed))
  if (denied) return denied.name
  // DNS has no reason to map a public IPv4 address into IPv6; global unicast IPv6 is 2000::/3 only.
  return parsed.isMapped || (parsed.family === 6 && !GLOBAL_UNICAST.has(parsed)) ? 'reserved' : null
}

export function listInterfaceRanges(): string[] {
  const interfaces = Object.values(networkInterfaces()).flatMap(entries => entries ?? [])
  // Some systems append the zone to a link-local address.
  const addresses = interfaces.map(({ address }) => address.replace(/%.*/s, ''))
  return addresses.map(address => `${address}/${isIP(address) === 4 ? 32 : 128}`)
}

export interface RangeList {
  has(address: Address): boolean
}

/** Uses one BlockList per family: in a single list, `::/0` would match all IPv4. */
export function createRangeList(ranges: string[]): RangeList {
  const lists = { 4: new BlockList(), 6: new BlockList() }
  for (const range of ranges) {
    const [address = '', bits] = range.trim().split('/')
    const family = isIP(address) === 4 ? 4 : 6
    const width = bits === undefined ? { 4: 32, 6: 128 }[family] : Number(bits)
    lists[family].addSubnet(address, width, `ipv${family}`)
  }
  return { has: ({ address, family }) => lists[family].check(address, `ipv${family}`) }
}

/** Returns a check whether an address is in one of the ranges; without ranges, each is. */
export function createAddressCheck(ranges: string[]): (address: string) => boolean {
  if (ranges.length === 0) return () => true
  const list = createRangeList(ranges)
  return text => {
    const address = parseAddress(text)
    return address !== null && list.has(address)
  }
}

/** Returns the /64 of an IPv6 address, because a client can use all of it; IPv4 unchanged. */
export function networkOf(address: string): string {
  const groups = groupsOf(address)
  return typeof groups === 'string' ? groups : `${groups.slice(0, 4).join(':')}::/64`
}

/** Returns the /48 of an IPv6 address: providers give one customer up to that; null for IPv4. */
export function siteOf(address: string): string | null {
  const groups = groupsOf(address)
  return typeof groups === 'string' ? null : `${groups.slice(0, 3).join(':')}::/48`
}

/** Returns the eight groups of an IPv6 address, or any other text, such as IPv4, unchanged. */
function groupsOf(address: string): string[] | string {
  if (!isIPv6(address)) return address
  const short = new SocketAddress({ address, family: 'ipv6' }).address
  if (/^::ffff:\d+\./.test(short)) return short.slice('::ffff:'.length)
  const [front = [], back = []] = short.split('::').map(part => part.split(':').filter(Boolean))
  const zeros = Array(8 - front.length - back.length).fill('0')
  return [...front, ...zeros, ...back]
}
