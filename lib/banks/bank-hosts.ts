import { lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { createRangeList, findDeniedClass, hostnameOf } from '#lib/core/addresses.ts'
import { env } from '#lib/core/settings.ts'
import type { Prisma } from '#lib/db/client.ts'

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
