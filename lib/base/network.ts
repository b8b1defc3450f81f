import { isIPv6, SocketAddress } from 'node:net'

/** Returns the /64 of an IPv6 address, because a client can use all of it; IPv4 unchanged. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const short = new SocketAddress({ address, family: 'ipv6' }).address
  if (/^::ffff:\d+\./.test(short)) return short.slice('::ffff:'.length)
  const [front = [], back = []] = short.split('::').map(part => part.split(':').filter(Boolean))
  const zeros = Array(8 - front.length - back.length).fill('0')
  return `${[...front, ...zeros, ...back].slice(0, 4).join(':')}::/64`
}
