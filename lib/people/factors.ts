import { recordAudit } from '#lib/audit/record.ts'
import { currentLogContext } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { type Database, db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import type { Message } from '#lib/mail/write.ts'
import { makeRecoveryCodes } from '#lib/people/recovery-codes.ts'
import type { Factor, Factors } from '#lib/people/schema.ts'
import { endSessionsOf, requireActiveSession } from '#lib/people/sessions.ts'

/** User whose factors change. Of the user's sessions, only `sessionId` stays open. */
export interface FactorOwner {
  id: string
  email: string
  name: string
  locale: string | null
  sessionId: string
}

type MailedChange = Extract<Message, { kind: 'secondFactorChanged' }>['change']

interface Change {
  action: string
  mail: MailedChange
  target?: string
}

const hasApp = Prisma.sql`EXISTS (
  SELECT FROM authenticators f WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL)`
const hasPasskey = Prisma.sql`EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id)`

/** SQL condition on a row `u` of users: signing in requires a second factor. */
export const hasSecondFactor = Prisma.sql`(${hasApp} OR ${hasPasskey})`

/** In production, admins without a second factor cannot use the operator's pages. */
export function isSecondFactorMissing(user: {
  isAdmin: boolean
  hasSecondFactor: boolean
}): boolean {
  return user.isAdmin && isStaffFactorRequired() && !user.hasSecondFactor
}

export function isStaffFactorRequired(): boolean {
  return env().TROCO_ENV === 'production'
}

export async function countStaff(
  database: Pick<Database, '$queryRaw'> = db(),
): Promise<{ staff: number; unguarded: number }> {
  const [counts] = await database.$queryRaw<{ staff: number; unguarded: number }[]>`
    SELECT count(*)::int AS staff, (count(*) FILTER (WHERE NOT ${hasSecondFactor}))::int AS unguarded
    FROM users u WHERE u.is_admin AND u.disabled_at IS NULL`
  return counts ?? { staff: 0, unguarded: 0 }
}

export async function listFactors(
  userId: string,
  database: Pick<Tx, '$queryRaw'> = db(),
): Promise<Factor[]> {
  const [row] = await database.$queryRaw<{ code: boolean; passkey: boolean }[]>`
    SELECT ${hasApp} AS code, ${hasPasskey} AS passkey FROM users u WHERE u.id = ${userId}::uuid`
  return (['code', 'passkey'] as const).filter(name => row?.[name])
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
 * Changes second factors, ends the user's other sessions and sends a mail. Returns new recovery
 * codes with the first factor; removing the last factor deletes the codes.
 */
export function changeFactor(
  owner: FactorOwner,
  { action, mail, target }: Change,
  work: (tx: Tx) => Promise<unknown>,
): Promise<string[] | null> {
  return transaction(async tx => {
    // Locks the user: otherwise two concurrent changes could both create recovery codes.
    await tx.$queryRaw`SELECT FROM users WHERE id = ${owner.id}::uuid FOR UPDATE`
    // A first proof of the e-mail may have removed all factors while this request waited.
    await requireActiveSession(tx, owner.sessionId)
    await work(tx)
    const codes = await updateRecoveryCodes(tx, owner.id)
    await endSessionsOf(tx, owner.id, owner.sessionId)
    const actor = { type: 'user', id: owner.id } as const
    await recordAudit(tx, { actor, action, target: target ?? owner.id })
    await mailFactorChange(tx, owner, mail)
    return codes
  })
}

export function mailFactorChange(
  tx: Tx,
  { email, locale }: Pick<FactorOwner, 'email' | 'locale'>,
  change: MailedChange,
): Promise<void> {
  const ip = currentLogContext().ip ?? null
  return queueMail(
    tx,
    { email, locale },
    { kind: 'secondFactorChanged', at: new Date(), ip, change },
  )
}

async function updateRecoveryCodes(tx: Tx, userId: string): Promise<string[] | null> {
  if ((await listFactors(userId, tx)).length === 0) {
    await tx.recoveryCode.deleteMany({ where: { userId } })
    return null
  }
  const codeCount = await tx.recoveryCode.count({ where: { userId } })
  return codeCount === 0 ? makeRecoveryCodes(tx, userId) : null
}
