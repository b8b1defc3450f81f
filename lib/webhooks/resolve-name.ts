import { lookup, Resolver } from 'node:dns/promises'

export type ResolveName = (hostname: string) => Promise<{ address: string; family: number }[]>

const RESOLVE_MS = 5_000
/** Two attempts of 2 s fit within the 5 s limit of a name resolution. */
const defaultResolver = new Resolver({ timeout: 2_000, tries: 2 })
const UNKNOWN_NAME_CODES = /^(ENOTFOUND|ENODATA)$/

/**
 * Queries DNS servers directly: the system resolver blocks a thread per query, so two slow names
 * could delay all webhooks. Names unknown to DNS (the hosts file) go to the system resolver.
 */
export async function resolveName(
  hostname: string,
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = defaultResolver,
): Promise<{ address: string; family: number }[]> {
  if (/(^|\.)localhost$/i.test(hostname)) return lookup(hostname, { all: true, verbatim: true })
  const results = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  const addresses = results.flatMap((result, index) =>
    result.status === 'fulfilled'
      ? result.value.map(address => ({ address, family: index === 0 ? 4 : 6 }))
      : [],
  )
  if (addresses.length > 0) return addresses
  const failures = results.filter(result => result.status === 'rejected')
  const isUnknown = failures.every(({ reason }) => UNKNOWN_NAME_CODES.test(reason.code))
  if (isUnknown) return lookup(hostname, { all: true, verbatim: true })
  throw failures[0]?.reason
}

/** Resolves a name; empty if it is unknown or not resolved within 5 s. */
export async function resolveInTime(
  name: string,
  resolve: ResolveName,
): Promise<{ address: string }[]> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<[]>(done => {
    timer = setTimeout(() => done([]), RESOLVE_MS)
  })
  try {
    return await Promise.race([resolve(name), timeout])
  } catch {
    return []
  } finally {
    clearTimeout(timer)
  }
}
