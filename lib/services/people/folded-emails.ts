import { type Database, db } from '#lib/base/db/client.ts'

const NAMED_MAX = 5

/**
 * Finds users whose e-mail is not stored as normalizeEmail writes it. No sign-in by e-mail and no
 * invitation finds them: the address was folded by other rules, or entered in the database.
 */
export async function findFoldedEmails(
  database: Pick<Database, '$queryRaw'> = db(),
): Promise<{ count: number; names: string[] }> {
  const rows = await database.$queryRaw<{ email: string }[]>`
    SELECT email FROM users
    WHERE email <> lower(email COLLATE "C") OR email !~ '^[\\x21-\\x7e]+$' ORDER BY id`
  return { count: rows.length, names: rows.slice(0, NAMED_MAX).map(({ email }) => email) }
}
