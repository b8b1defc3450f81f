import { recordAudit } from '#lib/base/audit/record.ts'
import { type Database, db, Prisma, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { env } from '#lib/base/env.ts'
import { contextNow } from '#lib/base/log.ts'
import { queueMail } from '#lib/services/mail/queue.ts'
import type { Message } from '#lib/services/mail/write.ts'
import { makeRecoveryCodes } from '#lib/services/people/recovery-codes.ts'
import type { Factor, Factors } from '#lib/services/people/schema.ts'
import { endSessionsOf } from '#lib/services/people/sessions.ts'

/** Whose factors change, and in which session: the one that goes on. */
export interface FactorOwner {
  id: string
  email: string
  name: string
  locale: string | null
  sessionId: string
}

type Mail = Extract<Message, { kind: 'secondFactorChanged' }>['change']

interface Change {
  action: string
  mail: Mail
  target?: string
}

const hasApp = Prisma.sql`EXISTS (
  SELECT FROM authenticators f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL)`
const hasPasskey = Prisma.sql`EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id)`

/** Whether signing in takes more than a password, of a row `u` of users. */
export const hasSecondFactor = Prisma.sql`(${hasApp} OR ${hasPasskey})`

/** Whether this admin must add a second factor before the operator's pages open. */
export function isSecondFactorMissing(user: {
  isAdmin: boolean
  hasSecondFactor: boolean
}): boolean {
  return user.isAdmin && isStaffFactorRequired() && !user.hasSecondFactor
}

/** Only in production: a local demo has nothing to protect. */
export function isStaffFactorRequired(): boolean {
  return env().TROCO_ENV === 'production'
}

/** Counts the active admins, and those of them without a second factor. */
export async function countStaff(
  database: Pick<Database, '$queryRaw'> = db(),
): Promise<{ staff: number; unguarded: number }> {
  const [counted] = await database.$queryRaw<{ staff: number; unguarded: number }[]>`
    SELECT count(*)::int AS staff, (count(*) FILTER (WHERE NOT ${hasSecondFactor}))::int AS unguarded
    FROM users u WHERE u.is_admin AND u.disabled_at IS NULL`
  return counted ?? { staff: 0, unguarded: 0 }
}

/** What somebody can be asked for beside a password; nothing: a password is enough. */
export async function listFactors(
  userId: string,
  database: Pick<Tx, '$queryRaw'> = db(),
): Promise<Factor[]> {
  const [found] = await database.$queryRaw<{ code: boolean; passkey: boolean }[]>`
    SELECT ${hasApp} AS code, ${hasPasskey} AS passkey FROM users u WHERE u.id = ${userId}::uuid`
  return (['code', 'passkey'] as const).filter(name => found?.[name])
}

export async function readFactors(userId: string): Promise<Factors> {
  const [factors, passkeys, codes] = await Promise.all([
    listFactors(userId),
    db().passkey.findMany({
      where: { userId },
      select: { id: true, name: true, createdAt: true, lastUsedAt: true },
      orderBy: { createdAt: 'asc' },
    }),
    db().recoveryCode.count({ where: { userId, usedAt: null } }),
  ])
  return {
    hasApp: factors.includes('code'),
    passkeys: passkeys.map(({ createdAt, lastUsedAt, ...rest }) => ({
      ...rest,
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
    })),
    codesLeft: codes,
  }
}

/**
 * Changes what somebody signs in with: their other sessions end with it, and they are told. Answers
 * the recovery codes where this is the first factor; with the last one they go.
 */
export function changeFactor(
  owner: FactorOwner,
  { action, mail, target }: Change,
  work: (tx: Tx) => Promise<unknown>,
): Promise<string[] | null> {
  return transaction(async tx => {
    // Two at once would both take themselves for the first.
    await tx.$queryRaw`SELECT FROM users WHERE id = ${owner.id}::uuid FOR UPDATE`
    await work(tx)
    const codes = await settleCodes(tx, owner.id)
    await endSessionsOf(tx, owner.id, owner.sessionId)
    const actor = { type: 'user', id: owner.id } as const
    await recordAudit(tx, { actor, action, target: target ?? owner.id })
    await tellOfChange(tx, owner, mail)
    return codes
  })
}

export function tellOfChange(
  tx: Tx,
  { email, locale }: Pick<FactorOwner, 'email' | 'locale'>,
  change: Mail,
): Promise<void> {
  const ip = contextNow().ip ?? null
  return queueMail(
    tx,
    { email, locale },
    { kind: 'secondFactorChanged', at: new Date(), ip, change },
  )
}

async function settleCodes(tx: Tx, userId: string): Promise<string[] | null> {
  if ((await listFactors(userId, tx)).length === 0) {
    await tx.recoveryCode.deleteMany({ where: { userId } })
    return null
  }
  const known = await tx.recoveryCode.count({ where: { userId } })
  return known === 0 ? makeRecoveryCodes(tx, userId) : null
}
