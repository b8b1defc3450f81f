import {
  type CobChange,
  type CobRow,
  type CobsQuery,
  type CobTerms,
  cobStatusOf,
  isTxid,
  type PixReader,
  readTerms,
  serializeCob,
  serializeCobWithPix,
  txidOf,
} from '#lib/api-pix/wire.ts'
import { cancelCharge } from '#lib/charges/cancel.ts'
import { createCharge } from '#lib/charges/create.ts'
import { chargeColumns, findCharge } from '#lib/charges/list.ts'
import { reviseTexts } from '#lib/charges/reveal.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { isTrocoError, refuse, type TrocoError } from '#lib/core/errors.ts'
import { isObject } from '#lib/core/fields.ts'
import { idLowerBoundAt, idUpperBoundAt, toUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, onPrimary, queryRows, utc } from '#lib/db/sql.ts'

export interface Merchant extends PixReader {
  id: string
  name: string
  city: string
  expiresIn: number
  receivingConnectionId: string | null
  mode: Mode
  ip: string | null
}

/** Attempts at a change while others change the same charge. */
const ATTEMPTS_MAX = 5

/**
 * Creates the charge with the merchant's txid, or revises the texts of one that exists. Called twice with the same content,
 * the second call changes nothing; after a crash at any point, the same call finishes what was begun.
 */
export async function putCob(merchant: Merchant, txid: string, terms: CobTerms) {
  requireOwnKey(merchant, terms.chave)
  if (!isTxid(txid)) throw violation({ txid: 'txid deve ter de 26 a 35 letras ou algarismos' })
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const found = await findByTxid(merchant, txid)
    const charge = found
      ? await changeCob(merchant, found, withAbsentTexts(terms))
      : await openCob(merchant, terms, txid)
    if (charge) return serializeCob(charge, merchant)
  }
  // Another request is opening it at the bank.
  throw refuse('service_unavailable')
}

export async function postCob(merchant: Merchant, terms: CobTerms) {
  requireOwnKey(merchant, terms.chave)
  const charge = await openCob(merchant, terms)
  if (!charge) throw refuse('service_unavailable')
  return serializeCob(charge, merchant)
}

/** A PUT replaces the texts, so one that is absent is removed. */
function withAbsentTexts(terms: CobTerms): CobChange {
  const { solicitacaoPagador = '', infoAdicionais = [] } = terms
  return { ...terms, solicitacaoPagador, infoAdicionais }
}

/** Returns null if the txid is in use. */
async function openCob(
  { mode, ip, readsPayers, ...account }: Merchant,
  terms: CobTerms,
  txid?: string,
): Promise<ChargeRow | null> {
  const { valor, calendario, devedor, solicitacaoPagador, infoAdicionais } = terms
  const { expiracao } = calendario
  const request = {
    amount: valor.original,
    client_name: devedor?.nome ?? '',
    client_email: '',
    client_doc: devedor?.cpf ?? devedor?.cnpj ?? '',
    external_id: txid,
    expires_in: expiracao,
    metadata: { expiracao, ...(infoAdicionais?.length && { infoAdicionais }) },
    description: solicitacaoPagador || undefined,
  }
  const merchant = { ...account, webhookMasked: !readsPayers, isReferenceUnique: true }
  try {
    const { id } = await createCharge(merchant, mode, request, ip)
    return await findCharge(account.id, mode, id)
  } catch (error) {
    if (isTrocoError(error) && error.code === 'external_id_used') return null
    throw error
  }
}

/** Changes the texts of a charge, or removes it, as API Pix's PATCH does. */
export async function patchCob(merchant: Merchant, txid: string, change: CobChange) {
  if (change.chave !== undefined) requireOwnKey(merchant, change.chave)
  const { status, ...others } = change
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const found = await findByTxid(merchant, txid)
    if (!found) throw refuse('transaction_not_found')
    const charge = status
      ? await removeCharge(merchant, found, others)
      : await changeCob(merchant, found, change)
    if (charge) return serializeCob(charge, merchant)
  }
  throw refuse('service_unavailable')
}

async function removeCharge(
  { id: accountId, mode }: Merchant,
  charge: ChargeRow,
  others: object,
): Promise<ChargeRow> {
  if (Object.values(others).some(value => value !== undefined))
    throw violation({ status: 'status deve ser a única alteração quando remove a cobrança' })
  return cancelCharge({ accountId, mode, includesExpired: true }, charge.id).catch(error => {
    if (!isTrocoError(error) || error.code !== 'already_final') throw error
    throw notActive()
  })
}

/** Returns the charge as it is then, or null if another request changed it meanwhile. */
async function changeCob(
  merchant: Merchant,
  charge: CobRow,
  change: CobChange,
): Promise<ChargeRow | null> {
  refuseOtherTerms(merchant, charge, change)
  const { infoAdicionais: listed = [], revisao } = readTerms(charge)
  const { solicitacaoPagador = charge.description ?? '', infoAdicionais = listed } = change
  const isSame =
    solicitacaoPagador === (charge.description ?? '') &&
    JSON.stringify(infoAdicionais) === JSON.stringify(listed)
  if (isSame) return charge
  if (cobStatusOf(charge) !== 'ATIVA') throw notActive()
  const metadata = isObject(charge.metadata) ? charge.metadata : {}
  const { infoAdicionais: _, ...rest } = metadata
  return reviseTexts(
    { accountId: merchant.id, id: charge.id },
    {
      description: solicitacaoPagador || null,
      metadata: {
        ...rest,
        ...(infoAdicionais.length > 0 && { infoAdicionais }),
        revisao: revisao + 1,
      },
    },
    charge.revision,
  )
}

/** The code that the payer has seen stays as it is, so only texts change. */
function refuseOtherTerms({ readsPayers }: Merchant, charge: ChargeRow, change: CobChange) {
  const { valor, calendario, devedor } = change
  const { expiracao } = readTerms(charge)
  const document = devedor && (devedor.cpf ?? devedor.cnpj ?? '')
  const isOtherPayer =
    document !== undefined &&
    (document !== normalizeTaxId(charge.client_doc) || devedor?.nome !== charge.client_name)
  const fields: Record<string, string> = {}
  const add = (field: string) => {
    fields[field] = `${field} não muda depois que a cobrança existe: só os textos mudam`
  }
  if (valor && valor.original !== charge.amount) add('valor.original')
  if (calendario?.expiracao !== undefined && calendario.expiracao !== expiracao)
    add('calendario.expiracao')
  // Whoever may not read a document must not learn by guesses which one it is.
  if (readsPayers && isOtherPayer) add('devedor')
  if (Object.keys(fields).length > 0) throw violation(fields)
}

export function requireOwnKey({ key }: PixReader, chave: string): void {
  if (chave.toLowerCase() === key) return
  throw violation({
    chave: 'chave corresponde a uma conta que não pertence a este usuário recebedor',
  })
}

function notActive(): TrocoError {
  return violation({
    txid: 'txid é de uma cobrança que não está no status ATIVA, e a requisição busca alterá-la',
  })
}

export function violation(messages: Record<string, string>): TrocoError {
  const entries = Object.entries(messages).map(([field, message]) => [field, [message]])
  return refuse('invalid_input', { fields: Object.fromEntries(entries) })
}

/** What was paid back of a charge `c`, the oldest first: refunds, and what the bank gave back by itself. */
const repaymentsSql = Prisma.sql`(
  SELECT json_agg(row_to_json(k) ORDER BY k.requested_at, k.settled_at, k.id) FROM (
    SELECT r.id, r.external_id, r.return_id, r.amount, NULL AS nature, r.reason AS description,
      ${utc('r.created_at', 'requested_at')}, ${utc('r.completed_at', 'settled_at')}, r.status,
      r.rejection_reason AS problem
    FROM refunds r WHERE r.account_id = c.account_id AND r.charge_id = c.id
    UNION ALL
    SELECT NULL, NULL, p.return_id, p.amount, p.nature, NULL, NULL, ${utc('p.returned_at', 'settled_at')},
      'completed', NULL
    FROM payment_returns p WHERE p.account_id = c.account_id AND p.charge_id = c.id) k)`

/** A CobRow, from a table or CTE named `c`. */
export const cobAsJson = asJson(Prisma.sql`${chargeColumns},
  c.metadata ->> 'revisao' AS revision,
  CASE WHEN c.status = 'paid' THEN ${repaymentsSql} END AS repayments`)

/** Of charges that repeat a reference, that with the slot is the one of the txid. */
async function findByTxid({ id, mode }: Merchant, txid: string): Promise<CobRow | null> {
  const find = (condition: Prisma.Sql) =>
    queryRows<CobRow>(Prisma.sql`
      SELECT ${cobAsJson}::text AS json FROM charges c
      WHERE ${onPrimary} AND c.account_id = ${id}::uuid AND c.mode = ${mode} AND c.status <> 'opening'
        AND ${condition}`)
  const [own] = await find(Prisma.sql`c.external_id = ${txid} AND c.external_id_slot = 0`)
  if (own || !/^[0-9a-f]{32}$/.test(txid)) return own ?? null
  const [charge] = await find(Prisma.sql`c.id = ${toUuid(txid)}::uuid`)
  return charge && txidOf(charge) === txid ? charge : null
}

export async function readCob(merchant: Merchant, txid: string, revisao?: number) {
  const charge = await findByTxid(merchant, txid)
  if (!charge) throw refuse('transaction_not_found')
  if (revisao !== undefined && revisao !== readTerms(charge).revisao)
    throw violation({ revisao: 'revisao deve ser a atual: as anteriores não são guardadas' })
  const cob = serializeCobWithPix(charge, merchant)
  // Efí's programs expect the key beside each payment of a list, and refuse it here, where the charge has it.
  return 'pix' in cob ? { ...cob, pix: cob.pix.map(({ chave: _, ...pix }) => pix) } : cob
}

/** Maximum entries of a period: counting them in the index takes tens of milliseconds. */
const PERIOD_MAX = 100_000

interface Listing {
  /** Condition on charges `c` of the period: an index has its columns, and gives `order`. */
  period: Prisma.Sql
  order: Prisma.Sql
  /** Further condition on `c`, if there is one. */
  filter: Prisma.Sql | null
}

type PageQuery = Pick<CobsQuery, 'paginacao.paginaAtual' | 'paginacao.itensPorPagina'>

/**
 * Reads one page of a period by its number, and how many entries the period has: docs/decisions/074. Counts the whole period
 * first, in its index alone, so that no filter makes a longer one be read.
 */
export async function readPeriod(query: PageQuery, { period, order, filter }: Listing) {
  const page = query['paginacao.paginaAtual']
  const size = query['paginacao.itensPorPagina']
  const seen = await countRows(Prisma.sql`${period} LIMIT ${PERIOD_MAX + 1}`)
  if (seen > PERIOD_MAX)
    throw violation({ fim: `fim deve encurtar o período: ele tem mais de ${PERIOD_MAX} itens` })
  const matching = filter ? Prisma.sql`${period} AND ${filter}` : period
  const total = filter ? await countRows(matching) : seen
  const rows = await queryRows<CobRow>(Prisma.sql`
    WITH chosen AS MATERIALIZED (
      SELECT c.account_id, c.id FROM charges c WHERE ${onPrimary} AND ${matching}
      ORDER BY ${order} OFFSET ${page * size} LIMIT ${size})
    SELECT ${cobAsJson}::text AS json FROM chosen JOIN charges c USING (account_id, id) ORDER BY ${order}`)
  const paginacao = {
    paginaAtual: page,
    itensPorPagina: size,
    quantidadeDePaginas: Math.max(1, Math.ceil(total / size)),
    quantidadeTotalDeItens: total,
  }
  return { paginacao, rows }
}

async function countRows(condition: Prisma.Sql): Promise<number> {
  const [found] = await queryRows<{ count: number }>(Prisma.sql`
    SELECT json_build_object('count', count(*))::text AS json
    FROM (SELECT FROM charges c WHERE ${onPrimary} AND ${condition}) c`)
  return found?.count ?? 0
}

/** Both ends are included; responses show milliseconds of a time with microseconds. */
export function withinSql(column: string, { inicio, fim }: { inicio: string; fim: string }) {
  const name = Prisma.raw(column)
  return Prisma.sql`${name} >= ${inicio}::timestamptz
    AND ${name} < ${fim}::timestamptz + interval '1 millisecond'`
}

/** Condition that the payer of a charge `c` has the document. Whoever may not read documents finds none. */
export function payerSql(document: string, { readsPayers }: PixReader): Prisma.Sql {
  return readsPayers
    ? Prisma.sql`upper(translate(c.client_doc, './ -', '')) = ${document}`
    : Prisma.sql`false`
}

const STATUS_CONDITIONS: Record<Required<CobsQuery>['status'], Prisma.Sql> = {
  ATIVA: Prisma.sql`(c.status = 'pending' OR c.status = 'expired' AND c.cancelled_at IS NULL)`,
  CONCLUIDA: Prisma.sql`c.status = 'paid'`,
  REMOVIDA_PELO_USUARIO_RECEBEDOR: Prisma.sql`c.status = 'expired' AND c.cancelled_at IS NOT NULL`,
  REMOVIDA_PELO_PSP: Prisma.sql`c.status = 'failed'`,
}

/** Lists the charges of a period by their creation, the oldest first, so that new ones change no page before the last. */
export async function listCobs(merchant: Merchant, query: CobsQuery) {
  const { inicio, fim, cpf, cnpj, status, locationPresente } = query
  const document = cpf ?? cnpj
  const { paginacao, rows } = await readPeriod(query, {
    period: Prisma.sql`c.account_id = ${merchant.id}::uuid AND c.mode = ${merchant.mode}
      AND c.status <> 'opening' AND c.id >= ${idLowerBoundAt(Date.parse(inicio))}::uuid
      AND c.id < ${idUpperBoundAt(Date.parse(fim) + 1)}::uuid AND ${withinSql('c.created_at', query)}`,
    order: Prisma.sql`c.id`,
    filter: allOf([
      status && STATUS_CONDITIONS[status],
      document && payerSql(document, merchant),
      // Each charge has a location.
      locationPresente === false && Prisma.sql`false`,
    ]),
  })
  const filters = { cpf, cnpj, status, locationPresente }
  const parametros = { inicio, fim, ...definedOf(filters), paginacao }
  return { parametros, cobs: rows.map(row => serializeCobWithPix(row, merchant)) }
}

export function allOf(conditions: (Prisma.Sql | '' | false | undefined)[]): Prisma.Sql | null {
  const given = conditions.filter(condition => condition instanceof Prisma.Sql)
  return given.length > 0 ? Prisma.join(given, ' AND ') : null
}

export function definedOf(filters: Record<string, unknown>) {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined))
}
