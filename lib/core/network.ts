import { isIPv6, SocketAddress } from 'node:net'

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
