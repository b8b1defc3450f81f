import { Prisma, type Tx } from '#lib/db/client.ts'
import { asJson, queryRows } from '#lib/db/sql.ts'

/** A user as the members of an account see them. */
export interface Person {
  id: string
  name: string
  email: string
  /** Staff who are also members of the account count as members. */
  isOperator: boolean
  /** Role in the account; null for others than its members. */
  role: string | null
}

/** A user in an account; null for an action that concerns none. */
export type PersonKey = readonly [accountId: string | null, userId: string | null]

/**
 * Reads the users whose ids rows of the account's side contain, all with one statement. Returns a
 * function that finds each; nothing for an unknown id.
 */
export async function readPeople(
  keys: readonly PersonKey[],
  tx?: Tx,
): Promise<(...key: PersonKey) => Person | undefined> {
  const wanted = new Map(keys.filter(([, userId]) => userId !== null).map(key => [key.join(), key]))
  const [accountIds, userIds] = [0, 1].map(part => [...wanted.values()].map(key => key[part]))
  const columns = Prisma.sql`u.id, u.name, u.email, m.role,
    u.is_admin AND m.user_id IS NULL AS "isOperator", k.account_id AS "accountId"`
  const rows =
    wanted.size === 0
      ? []
      : await queryRows<Person & { accountId: string | null }>(
          Prisma.sql`
            SELECT ${asJson(columns)}::text AS json
            FROM unnest(${accountIds}::uuid[], ${userIds}::uuid[]) AS k (account_id, user_id)
            JOIN users u ON u.id = k.user_id
            LEFT JOIN memberships m ON m.account_id = k.account_id AND m.user_id = u.id`,
          tx,
        )
  const found = new Map(rows.map(({ accountId, ...one }) => [[accountId, one.id].join(), one]))
  return (...key) => found.get(key.join())
}
