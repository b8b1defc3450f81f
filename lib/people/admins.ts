import { type Actor, personOf } from '#lib/audit/record.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'
import { type Message, queueMail, type Recipient } from '#lib/mail/queue.ts'

/** Time in which a second admin may confirm what the first proposed. */
export const PROPOSAL_HOURS = 24

/** Age of an admin, and of a reset by the operator, from which the admin counts as a second person. */
export const SECOND_ADMIN_DAYS = 7

const isActive = (row: 'p' | 's') => Prisma.raw(`${row}.is_admin AND ${row}.disabled_at IS NULL`)

/**
 * Condition that admin `s` may confirm what admin `p` proposed. Whoever makes or resets an admin
 * could act as both. A reset at the command line has no person, so it may be that of the first.
 */
const isSecondSql = Prisma.sql`${isActive('p')} AND ${isActive('s')} AND s.id <> p.id
  AND s.admin_since <= now() - ${SECOND_ADMIN_DAYS} * interval '1 day'
  AND s.admin_by IS DISTINCT FROM p.id AND s.reset_by IS DISTINCT FROM p.id
  AND p.admin_by IS DISTINCT FROM s.id AND p.reset_by IS DISTINCT FROM s.id
  AND COALESCE(s.reset_at <= now() - ${SECOND_ADMIN_DAYS} * interval '1 day', true)`

/** Locks both admins until the commit. Returns whether the second may confirm what the first proposed. */
export function lockSecondAdmin(tx: Tx, firstId: string, secondId: string): Promise<boolean> {
  return isAnyPair(tx, Prisma.sql`AND ${arePair(firstId, secondId)} FOR SHARE`)
}

export function isSecondAdmin(firstId: string, secondId: string): Promise<boolean> {
  return isAnyPair(db(), Prisma.sql`AND ${arePair(firstId, secondId)}`)
}

/** Returns whether any two admins could propose and confirm. */
export function areTwoAdmins(tx: Tx): Promise<boolean> {
  return isAnyPair(tx, Prisma.sql`LIMIT 1`)
}

const arePair = (firstId: string, secondId: string) =>
  Prisma.sql`p.id = ${firstId}::uuid AND s.id = ${secondId}::uuid`

async function isAnyPair(tx: Tx, further: Prisma.Sql): Promise<boolean> {
  const found = await tx.$queryRaw<unknown[]>`
    SELECT FROM users p JOIN users s ON true WHERE ${isSecondSql} ${further}`
  return found.length > 0
}

/** Mails all active admins. */
export async function queueMailToAdmins(tx: Tx, write: (to: Recipient) => Message): Promise<void> {
  const admins = await tx.user.findMany({
    where: { isAdmin: true, disabledAt: null },
    select: { email: true, locale: true },
  })
  for (const admin of admins) await queueMail(tx, admin, write(admin))
}

/** Records that the operator reset how a user signs in. */
export async function noteReset(tx: Tx, userId: string, actor: Actor): Promise<void> {
  const data = { resetAt: new Date(), resetBy: personOf(actor) }
  await tx.user.update({ where: { id: userId }, data })
}
