import { type Database, db } from '#lib/base/db/client.ts'

const NAMED_MAX = 5

/**
 * Finds users whose e-mail is not stored as normalizeEmail writes it. No sign-in by e-mail and no
 * invitation finds them: the address was folded by other rules, or entered in the database.
 */
export async function findFoldedEmails(
  database: Pick<Database, '$queryRaw'> = db(),
): Promise<{ count: number; people: { id: string; email: string }[] }> {
  const rows = await database.$queryRaw<{ id: string; email: string }[]>`
    SELECT id, email FROM users
    WHERE email <> lower(email COLLATE "C") OR email !~ '^[\\x21-\\x7e]+$' ORDER BY id`
  return { count: rows.length, people: rows.slice(0, NAMED_MAX) }
}
