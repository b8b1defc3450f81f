import { recordAudit } from '#lib/base/audit/record.ts'
import { db, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
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

/** What somebody can be asked for beside a password; nothing: a password is enough. */
export async function listFactors(userId: string): Promise<Factor[]> {
  const [found] = await db().$queryRaw<{ code: boolean; passkey: boolean }[]>`
    SELECT EXISTS (SELECT FROM authenticators WHERE user_id = ${userId}::uuid
        AND confirmed_at IS NOT NULL) AS code,
      EXISTS (SELECT FROM passkeys WHERE user_id = ${userId}::uuid) AS passkey`
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
  const apps = await tx.authenticator.count({ where: { userId, confirmedAt: { not: null } } })
  const hasFactor = apps + (await tx.passkey.count({ where: { userId } })) > 0
  if (!hasFactor) {
    await tx.recoveryCode.deleteMany({ where: { userId } })
    return null
  }
  const known = await tx.recoveryCode.count({ where: { userId } })
  return known === 0 ? makeRecoveryCodes(tx, userId) : null
}
