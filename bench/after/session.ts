import { db } from '#lib/db/client.ts'
import { openSession } from '#lib/people/sessions.ts'

/** Returns the value of the session cookie of an account's owner. */
export async function openOwnerSession(accountId: string): Promise<string> {
  const where = { accountId, role: 'owner' }
  const { userId } = await db().membership.findFirstOrThrow({ where })
  return openSession(userId, { ip: '127.0.0.1', userAgent: 'bench' })
}
