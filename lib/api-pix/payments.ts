import {
  allOf,
  cobAsJson,
  definedOf,
  type Merchant,
  payerSql,
  readPeriod,
  violation,
  withinSql,
} from '#lib/api-pix/charges.ts'
import {
  type CobRow,
  type DevolucaoTerms,
  type PixQuery,
  type Repayment,
  refundIdRule,
  serializePix,
  serializeRepayment,
  toRepayment,
} from '#lib/api-pix/wire.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { refuse } from '#lib/core/errors.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { type Authority, onPrimary, queryRows } from '#lib/db/sql.ts'

async function findPaid({ id, mode }: Merchant, endToEndId: string): Promise<CobRow> {
  const [row] = await queryRows<CobRow>(Prisma.sql`
    SELECT ${cobAsJson}::text AS json FROM charges c
    WHERE ${onPrimary} AND c.end_to_end_id = ${endToEndId} AND c.account_id = ${id}::uuid
      AND c.mode = ${mode} AND c.status = 'paid'`)
  if (!row) throw refuse('transaction_not_found')
  return row
}

export async function readPix(merchant: Merchant, endToEndId: string) {
  return serializePix(await findPaid(merchant, endToEndId), merchant.key)
}

/** Lists the payments of a period by the time of payment, the oldest first. */
export async function listPix(merchant: Merchant, query: PixQuery) {
  const { inicio, fim, cpf, cnpj, txid, txIdPresente, devolucaoPresente } = query
  const document = cpf ?? cnpj
  const isRepaid = Prisma.sql`(c.refund_held_amount > 0 OR c.returned_amount > 0 OR EXISTS (
    SELECT FROM refunds r WHERE r.account_id = c.account_id AND r.charge_id = c.id))`
  const { paginacao, rows } = await readPeriod(query, {
    period: Prisma.sql`c.account_id = ${merchant.id}::uuid AND c.mode = ${merchant.mode}
      AND c.paid_at IS NOT NULL AND ${withinSql('c.paid_at', query)}`,
    order: Prisma.sql`c.paid_at, c.id`,
    filter: allOf([
      // A charge without a reference of the form has its id as txid.
      txid && Prisma.sql`(c.external_id = ${txid} OR c.txid = ${txid})`,
      // Each payment of a charge has a txid.
      txIdPresente === false && Prisma.sql`false`,
      devolucaoPresente !== undefined && Prisma.sql`${isRepaid} = ${devolucaoPresente}`,
      document && payerSql(document, merchant),
    ]),
  })
  const filters = { txid, txIdPresente, devolucaoPresente, cpf, cnpj }
  const parametros = { inicio, fim, ...definedOf(filters), paginacao }
  return { parametros, pix: rows.map(row => serializePix(row, merchant.key)) }
}

/** Refunds of other programs have the id without hyphens. */
function findRepayment({ repayments }: CobRow, id: string): Repayment | undefined {
  return repayments?.find(
    ({ id: own, external_id }) => (external_id ?? (own && removeHyphens(own))) === id,
  )
}

export async function readDevolucao(merchant: Merchant, endToEndId: string, id: string) {
  const repayment = findRepayment(await findPaid(merchant, endToEndId), id)
  if (!repayment) throw refuse('refund_not_found')
  return serializeRepayment(repayment)
}

/**
 * Refunds a part of a payment under the merchant's id. Called twice with the same amount, the second call returns the
 * first refund, also after a crash: the id is unique in the statement that holds the money.
 */
export async function putDevolucao(
  merchant: Merchant & { authority: Authority },
  endToEndId: string,
  id: string,
  { valor, descricao }: DevolucaoTerms,
) {
  if (!refundIdRule.safeParse(id).success)
    throw violation({ id: 'id deve ter de 1 a 35 letras ou algarismos' })
  const charge = await findPaid(merchant, endToEndId)
  const order = { amount: valor, reason: descricao, externalId: id }
  const first =
    findRepayment(charge, id) ??
    (await createRefund(merchant.authority, merchant.mode, charge.id, order).then(
      refund => toRepayment(refund, id),
      async error => {
        // The same request at the same time: it has the id, or what was left of the payment.
        const other = findRepayment(await findPaid(merchant, endToEndId), id)
        if (!other) throw error
        return other
      },
    ))
  if (first.amount === valor) return serializeRepayment(first)
  throw violation({
    id: 'id já foi utilizado por outra requisição de devolução para este e2eid, com outro valor',
  })
}
