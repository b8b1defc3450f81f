import { Prisma } from '#lib/base/db/client.ts'
import { TAX_ID_FORM } from '#lib/base/pix/hide-tax-ids.ts'

/** Text without what has the form of a document, for a search by staff that sees documents masked. */
export function withoutTaxIds(text: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`regexp_replace(${text}, ${TAX_ID_FORM}, '*', 'g')`
}
