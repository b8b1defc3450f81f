import type { Actor } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import type { TokenDecision } from '#lib/people/schema.ts'
import { lockActiveToken } from '#lib/tokens/change.ts'
import {
  assignIssuer,
  canAdopt,
  exceedsIssuer,
  readRole,
  requireAuthority,
} from '#lib/tokens/issue.ts'
import { readTokens, tokenAsJson } from '#lib/tokens/queries.ts'
import { revokeTokens } from '#lib/tokens/revoke.ts'
import type { IssuedTokenRow, Permission } from '#lib/tokens/schema.ts'
import { activeTokenCondition, withChildren } from '#lib/tokens/token.ts'
import { lockAccount } from '#lib/webhooks/owner.ts'

/** Makes an owner the issuer of a token, which may then be rotated again. Idempotent. */
export function adoptToken(
  token: { accountId: string; mode: Mode; id: string },
  actor: Actor,
): Promise<void> {
  return transaction(async tx => {
    const { accountId } = token
    await lockAccount(tx, accountId)
    const { permissions, parentId } = await lockActiveToken(tx, token, actor)
    if (parentId !== null) throw refuse('child_token')
    if (!(await canAdopt(tx, accountId, actor)))
      throw refuse('permission_denied', { permission: 'tokens:adopt' })
    await requireAuthority(tx, { accountId, actor }, permissions, 'adopt')
    await assignIssuer(tx, token, actor)
  })
}

interface Issuer {
  accountId: string
  userId: string
}

type UserActor = { type: 'user'; id: string }

/** Lists the active tokens of both modes that a member issued, newest first. Their children follow them. */
export async function listIssuedTokens({ accountId, userId }: Issuer): Promise<IssuedTokenRow[]> {
  const isMember =
    isUuid(userId) && (await db().membership.count({ where: { accountId, userId } })) > 0
  if (!isMember) throw refuse('member_not_found')
  const tokens = await readTokens(Prisma.sql`
    SELECT ${tokenAsJson}::text AS json FROM tokens t
    WHERE t.account_id = ${accountId}::uuid AND t.issued_by = ${userId}::uuid
      AND t.parent_id IS NULL AND ${activeTokenCondition}
    ORDER BY t.id DESC`)
  return tokens.map(({ token, mode }) => ({ ...token, mode }))
}

/**
 * Returns a function that adopts or revokes the tokens that exceed the issuer's new role. Refuses
 * unless `decisions` name exactly these, or if the actor lacks a permission of an adopted one. Call
 * it in the transaction that changes the role, under the account's lock.
 */
export function createTokenAdoption(
  issuer: Issuer,
  decisions: readonly TokenDecision[] | undefined,
  actor: UserActor,
) {
  return (tx: Tx) => settleTokens(tx, issuer, decisions ?? [], actor)
}

async function settleTokens(
  tx: Tx,
  { accountId, userId }: Issuer,
  decisions: readonly TokenDecision[],
  actor: UserActor,
): Promise<void> {
  const role = await readRole(tx, accountId, userId)
  const issued = await tx.$queryRaw<{ id: string; permissions: Permission[] }[]>`
    SELECT t.id, t.permissions FROM tokens t
    WHERE t.account_id = ${accountId}::uuid AND t.issued_by = ${userId}::uuid
      AND t.parent_id IS NULL AND ${activeTokenCondition}
    ORDER BY t.id FOR UPDATE`
  const rows = issued.filter(token => exceedsIssuer({ ...token, issuedBy: userId }, role))
  const actions = new Map(decisions.map(({ id, action }) => [id, action]))
  if (decisions.length !== rows.length || !rows.every(({ id }) => actions.has(id)))
    throw refuse('tokens_undecided', { ids: rows.map(({ id }) => id) })
  for (const { id, permissions } of rows) {
    if (actions.get(id) === 'revoke')
      await revokeTokens(tx, accountId, withChildren(id), undefined, actor)
    else {
      await requireAuthority(tx, { accountId, actor }, permissions, 'keep')
      await assignIssuer(tx, { accountId, id }, actor)
    }
  }
}

/**
 * Revokes what the tokens of a member who leaves have created. Those tokens keep working until an
 * owner decides about them. Call it under the account's lock.
 */
export async function revokeChildren(tx: Tx, accountId: string, actor: UserActor): Promise<void> {
  const isChild = Prisma.sql`t.issued_by = ${actor.id}::uuid AND t.parent_id IS NOT NULL
    AND ${activeTokenCondition}`
  await revokeTokens(tx, accountId, isChild, undefined, actor)
}
