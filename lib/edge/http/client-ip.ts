import { isIP } from 'node:net'

/**
 * The caller's address: the socket's, or, behind `hops` proxies that are to be believed, the one
 * that the outermost of them saw. What a caller forges stands further left and is never read.
 */
export function clientIp(socketAddress: string, forwardedFor: string, hops: number): string {
  const chain = [...forwardedFor.split(',').map(part => part.trim()), plain(socketAddress)]
  const seen = plain(chain.at(-1 - hops) ?? '')
  return isIP(seen) ? seen : plain(socketAddress)
}

function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '')
}
