import { TAX_ID_FORM } from '#lib/core/pix/hide-tax-ids.ts'
import { Prisma } from '#lib/db/client.ts'

/** Text without what has the form of a document, for a search by staff that sees documents masked. */
export function withoutTaxIds(text: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`regexp_replace(${text}, ${TAX_ID_FORM}, '*', 'g')`
}
