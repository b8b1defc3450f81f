import { databaseFault } from '#lib/base/errors.ts'

/**
 * Returns the refusal of a statement that prisma/functions/troco_refuse.sql ended, else null. The
 * message of that SQLSTATE is JSON of our own; other messages can hold rows and are never read.
 */
export function refusalOf(
  error: unknown,
): { code: string; params: Record<string, string | number> } | null {
  if (databaseFault(error).code !== 'TR422' || !(error instanceof Error)) return null
  return JSON.parse(error.message)
}
