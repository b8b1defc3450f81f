import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { env } from '#lib/base/env.ts'

/** Whether a page of ours sent this: PUBLIC_URL alone says where they live. */
export function isOwnOrigin(origin: string | null): boolean {
  const given = URL.parse(origin ?? '')
  const own = new URL(env().PUBLIC_URL)
  if (!given) return false
  if (given.origin === own.origin) return true
  // In local use the machine may be called by any name of its own.
  const sameDoor = given.protocol === own.protocol && given.port === own.port
  return env().TROCO_ENV === 'local' && sameDoor && isThisMachine(given.hostname)
}

function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  if (!isIP(name)) return ['localhost', hostname().toLowerCase()].includes(name)
  const addresses = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  return name.startsWith('127.') || addresses.some(({ address }) => address === name)
}
