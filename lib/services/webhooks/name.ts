import { lookup, Resolver } from 'node:dns/promises'

/** Within the 5 s that a name has in all. */
const servers = new Resolver({ timeout: 2_000, tries: 2 })
/** The servers know no such name, or no address of it. */
const UNKNOWN = /^(ENOTFOUND|ENODATA)$/

/**
 * All addresses of a name. The name servers are asked directly: the system's own way keeps a thread
 * for each question, and two names that hang would hold up the webhooks of everybody. Only what
 * the servers do not know (it may stand in the machine's hosts file) is asked of the system.
 */
export async function resolveName(
  hostname: string,
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = servers,
): Promise<{ address: string; family: number }[]> {
  if (/(^|\.)localhost$/i.test(hostname)) return lookup(hostname, { all: true, verbatim: true })
  const answers = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ])
  const found = answers.flatMap((answer, at) =>
    answer.status === 'fulfilled'
      ? answer.value.map(address => ({ address, family: at === 0 ? 4 : 6 }))
      : [],
  )
  if (found.length > 0) return found
  const failures = answers.filter(answer => answer.status === 'rejected')
  const isUnknown = failures.every(({ reason }) => UNKNOWN.test(reason.code))
  if (isUnknown) return lookup(hostname, { all: true, verbatim: true })
  throw failures[0]?.reason
}
