import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { RefundRow } from '#lib/charges/refunds/schema.ts'
import {
  CHARGE_AMOUNT_MIN,
  type ChargeRow,
  EXPIRES_IN_MAX,
  EXPIRES_IN_MIN,
} from '#lib/charges/schema.ts'
import { DESCRIPTION_LENGTH_MAX } from '#lib/charges/states.ts'
import { hasUserInfo, httpsUrl, httpUrl, isObject } from '#lib/core/fields.ts'
import { removeHyphens, toUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { AMOUNT_MAX, formatDecimalAmount } from '#lib/core/money.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import {
  isValidCnpj,
  isValidCpf,
  normalizeTaxId,
  type TaxIdKind,
  taxIdKind,
} from '#lib/core/pix/tax-id.ts'

/** Returns the key that API Pix calls `chave`: computed, so that it needs no row and survives a restore. */
export function accountKey(accountId: string, mode: Mode): string {
  const hex = createHash('sha256').update(`api-pix ${accountId} ${mode}`).digest('hex')
  // Form of the random keys that Banco Central issues: UUIDs of version 4.
  return toUuid(`${hex.slice(0, 12)}4${hex.slice(13, 16)}a${hex.slice(17, 32)}`)
}

const TXID = /^[a-zA-Z0-9]{26,35}$/
const DAY_S = 86_400

/** What a field must be; the endpoint prepends the name of the field. Programs of API Pix are Brazilian. */
function must(rule: string) {
  return {
    error: ({ input }: { input?: unknown }) =>
      input === undefined ? 'é obrigatório' : `deve ${rule}`,
  }
}

export function isTxid(text: string): boolean {
  return TXID.test(text)
}

export const refundIdRule = z
  .string()
  .regex(/^[a-zA-Z0-9]{1,35}$/, must('ter de 1 a 35 letras ou algarismos'))

const reais = z
  .string(must('ser um texto como "123.45"'))
  .regex(/^\d{1,10}\.\d{2}$/, must('ser um texto como "123.45"'))
  .transform(text => Number(text.replace('.', '')))

function reaisFrom(min: number) {
  const rule = `ser de ${formatDecimalAmount(min)} a ${formatDecimalAmount(AMOUNT_MAX)}`
  return reais.refine(amount => amount >= min && amount <= AMOUNT_MAX, must(rule))
}

function textUpTo(max: number) {
  const rule = `ser um texto de até ${max} caracteres, sem caracteres de controle`
  return z
    .string(must(rule))
    .max(max, must(rule))
    .regex(/^\P{C}*$/u, must(rule))
}

const isExpiry = (seconds: number) => seconds >= EXPIRES_IN_MIN && seconds <= EXPIRES_IN_MAX
const EXPIRY_RULE = must(`ser um número de segundos de ${EXPIRES_IN_MIN} a ${EXPIRES_IN_MAX}`)
/** Banco Central's own examples have it as text. */
const expiracao = z
  .union(
    [
      z.int(),
      z
        .string()
        .regex(/^\d{1,9}$/)
        .transform(Number),
    ],
    EXPIRY_RULE,
  )
  .refine(isExpiry, EXPIRY_RULE)

const DEBTOR_RULE = must('ter cpf ou cnpj, um dos dois, e nome')
function debtor(mode: Mode) {
  const isRight = (isValid: (text: string) => boolean) => (text: string) =>
    mode === 'test' || isValid(text)
  return z
    .object(
      {
        cpf: z
          .string()
          .regex(/^\d{11}$/, must('ter 11 algarismos'))
          .refine(isRight(isValidCpf), must('ter dígitos verificadores corretos'))
          .optional(),
        cnpj: z
          .string()
          .regex(/^[0-9A-Z]{12}\d{2}$/, must('ter 14 algarismos ou letras maiúsculas'))
          .refine(isRight(isValidCnpj), must('ter dígitos verificadores corretos'))
          .optional(),
        nome: textUpTo(200).trim().min(1, must('ter de 1 a 200 caracteres')),
      },
      must('ser um objeto'),
    )
    .refine(({ cpf, cnpj }) => (cpf === undefined) !== (cnpj === undefined), DEBTOR_RULE)
}

const infoAdicionais = z
  .array(
    z.object({ nome: textUpTo(50), valor: textUpTo(200) }, must('ser um objeto')),
    must('ser uma lista'),
  )
  .max(50, must('ter até 50 itens'))
type AdditionalTexts = z.infer<typeof infoAdicionais>

const unsupported = (what: string) =>
  z.undefined({ error: `não é aceito: esta conta não tem ${what}` })

function chargeBody(mode: Mode) {
  return z.object({
    calendario: z.object(
      { expiracao: expiracao.default(DAY_S) },
      must('ser um objeto com expiracao'),
    ),
    devedor: debtor(mode).optional(),
    valor: z.object(
      {
        original: reaisFrom(CHARGE_AMOUNT_MIN),
        modalidadeAlteracao: z
          .literal(0, { error: 'deve ser 0: o pagador não altera o valor' })
          .optional(),
        retirada: unsupported('Pix Saque nem Pix Troco').optional(),
      },
      must('ser um objeto com original'),
    ),
    chave: z.string(must('ser a chave da conta')),
    solicitacaoPagador: textUpTo(DESCRIPTION_LENGTH_MAX).optional(),
    infoAdicionais: infoAdicionais.optional(),
    loc: unsupported('locations').optional(),
  })
}

export const cobRequest = { test: chargeBody('test'), live: chargeBody('live') }
export type CobTerms = z.infer<typeof cobRequest.test>

/** Without defaults: what is absent does not change. */
function changeBody(mode: Mode) {
  const { shape } = cobRequest[mode]
  return z.object({
    ...z.object(shape).partial().shape,
    calendario: z
      .object({ expiracao: expiracao.optional() }, must('ser um objeto com expiracao'))
      .optional(),
    status: z
      .literal('REMOVIDA_PELO_USUARIO_RECEBEDOR', must('ser REMOVIDA_PELO_USUARIO_RECEBEDOR'))
      .optional(),
  })
}
export const cobChangeRequest = { test: changeBody('test'), live: changeBody('live') }
export type CobChange = z.infer<typeof cobChangeRequest.test>

const DevolucaoRequest = z.object({
  valor: reaisFrom(1),
  natureza: z.literal('ORIGINAL', must('ser ORIGINAL')).optional(),
  descricao: textUpTo(140).optional(),
})
export const devolucaoRequest = { test: DevolucaoRequest, live: DevolucaoRequest }
export type DevolucaoTerms = z.infer<typeof DevolucaoRequest>

const TIME_RULE = must('ser um momento como 2026-11-30T00:00:00Z, com o sinal + escrito como %2B')
const INSTANT_LENGTH_MAX = 40
/** PostgreSQL reads no offset of 16 hours or more, and no long fraction. */
const instant = z.iso
  .datetime({ offset: true, ...TIME_RULE })
  .max(INSTANT_LENGTH_MAX, TIME_RULE)
  .refine(text => Date.parse(text) >= 0 && !/[+-](1[6-9]|2\d):/.test(text), TIME_RULE)
const flag = z.enum(['true', 'false'], must('ser true ou false')).transform(text => text === 'true')

export const ITEMS_MAX = 1_000
function wholeNumber(min: number, max: number, otherwise: number) {
  const rule = must(`ser um número inteiro de ${min} a ${max}`)
  return z
    .string(rule)
    .regex(/^\d{1,6}$/, rule)
    .transform(Number)
    .refine(value => value >= min && value <= max, rule)
    .default(otherwise)
}

const pageShape = {
  'paginacao.paginaAtual': wholeNumber(0, 999_999, 0),
  'paginacao.itensPorPagina': wholeNumber(1, ITEMS_MAX, 100),
}
const periodShape = {
  inicio: instant,
  fim: instant,
  cpf: z
    .string()
    .regex(/^\d{11}$/, must('ter 11 algarismos'))
    .optional(),
  cnpj: z
    .string()
    .regex(/^[0-9A-Z]{14}$/, must('ter 14 algarismos ou letras maiúsculas'))
    .optional(),
  ...pageShape,
}

interface Period {
  inicio: string
  fim: string
  cpf?: string | undefined
  cnpj?: string | undefined
}

function refuseContradictions({ inicio, fim, cpf, cnpj }: Period, context: z.RefinementCtx): void {
  const add = (path: string, message: string) =>
    context.addIssue({ code: 'custom', path: [path], message })
  if (Date.parse(fim) < Date.parse(inicio)) add('fim', 'deve ser igual ou posterior a inicio')
  if (cpf !== undefined && cnpj !== undefined) add('cpf', 'deve faltar quando há cnpj')
}

export const COB_STATUSES = [
  'ATIVA',
  'CONCLUIDA',
  'REMOVIDA_PELO_USUARIO_RECEBEDOR',
  'REMOVIDA_PELO_PSP',
] as const
type CobStatus = (typeof COB_STATUSES)[number]

export const cobsQuery = z
  .object({
    ...periodShape,
    status: z.enum(COB_STATUSES, must(`ser ${COB_STATUSES.join(', ')}`)).optional(),
    locationPresente: flag.optional(),
  })
  .superRefine(refuseContradictions)
export type CobsQuery = z.infer<typeof cobsQuery>

export const pixQuery = z
  .object({
    ...periodShape,
    txid: z
      .string()
      .regex(/^[a-zA-Z0-9]{1,35}$/, must('ter de 1 a 35 letras ou algarismos'))
      .optional(),
    txIdPresente: flag.optional(),
    devolucaoPresente: flag.optional(),
  })
  .superRefine(refuseContradictions)
export type PixQuery = z.infer<typeof pixQuery>

export const webhooksQuery = z.object({
  inicio: instant.optional(),
  fim: instant.optional(),
  ...pageShape,
})
export type WebhooksQuery = z.infer<typeof webhooksQuery>

function webhookBody(url: z.ZodType<string>, rule: string) {
  const webhookUrl = z
    .string(must(rule))
    .refine(text => url.safeParse(`${text}/pix`).success && !hasUserInfo(text), must(rule))
  return z.object({ webhookUrl })
}
export const webhookRequest = {
  test: webhookBody(httpUrl, 'ser um endereço http ou https sem usuário e senha'),
  live: webhookBody(httpsUrl, 'ser um endereço https sem usuário e senha'),
}

export const revisionQuery = z.object({
  revisao: wholeNumber(0, 999_999, 0).unwrap().optional(),
})

/** A refund of the merchant's, or money that the bank gave back by itself. */
export interface Repayment {
  /** Null: the bank gave the money back, and its id of the return is the only one. */
  id: string | null
  external_id: string | null
  return_id: string | null
  amount: number
  nature: string | null
  description: string | null
  requested_at: string | null
  settled_at: string | null
  status: RefundRow['status']
  problem: string | null
}

/** A charge with what was paid back of it, the oldest first. */
export type CobRow = ChargeRow & {
  repayments: Repayment[] | null
  /** `revisao` of the metadata as the database has it: another program may have written anything there. */
  revision: string | null
}

/** What only API Pix knows of a charge. Another program of the merchant may have written the metadata. */
export function readTerms({ metadata, created_at, expires_at }: ChargeRow) {
  const stored = isObject(metadata) ? metadata : {}
  const seconds = Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 1_000)
  const read = <T>(schema: z.ZodType<T>, name: string) => schema.safeParse(stored[name]).data
  return {
    expiracao: read(z.int().positive(), 'expiracao') ?? seconds,
    infoAdicionais: read(infoAdicionais, 'infoAdicionais') as AdditionalTexts | undefined,
    revisao: read(z.int().min(0).max(2_147_483_647), 'revisao') ?? 0,
  }
}

/** Returns the txid of a charge in API Pix: the merchant's reference if it is one, else the charge's id. */
export function txidOf({ id, external_id }: Pick<ChargeRow, 'id' | 'external_id'>): string {
  return TXID.test(external_id) ? external_id : removeHyphens(id)
}

export function cobStatusOf({ status, cancelled_at }: ChargeRow): CobStatus {
  if (status === 'paid') return 'CONCLUIDA'
  if (status === 'failed') return 'REMOVIDA_PELO_PSP'
  return cancelled_at ? 'REMOVIDA_PELO_USUARIO_RECEBEDOR' : 'ATIVA'
}

/** Milliseconds, because many programs read no more. */
export function toTime(instant: string): string {
  return `${instant.slice(0, 23)}Z`
}

export interface PixReader {
  /** The account's `chave`. */
  key: string
  /** Whether the caller may read payers' documents; without one, there is no `devedor`. */
  readsPayers: boolean
}

/** Serializes a charge without its payments, as a response to its creation or change. */
export function serializeCob(charge: ChargeRow, { key, readsPayers }: PixReader) {
  const { expiracao, infoAdicionais, revisao } = readTerms(charge)
  const { id, client_doc, client_name, br_code, description } = charge
  const criacao = toTime(charge.created_at)
  const kind = taxIdKind(client_doc)
  const reading = parseBrCode(br_code)
  const location = reading.ok && 'location' in reading.code ? reading.code.location : null
  return {
    calendario: { criacao, expiracao },
    txid: txidOf(charge),
    revisao,
    ...(location && { loc: { id: locationIdOf(id), location, tipoCob: 'cob', criacao }, location }),
    status: cobStatusOf(charge),
    ...(kind && readsPayers && { devedor: serializeDebtor(kind, client_doc, client_name) }),
    valor: { original: formatDecimalAmount(charge.amount) },
    chave: key,
    ...(description && { solicitacaoPagador: description }),
    ...(infoAdicionais && { infoAdicionais }),
    pixCopiaECola: br_code,
  }
}

function serializeDebtor(kind: TaxIdKind, document: string, name: string) {
  return { [kind]: normalizeTaxId(document), nome: name.slice(0, 200) }
}

/** A number for programs that expect one. Nothing can be asked by it: there are no locations of their own. */
function locationIdOf(chargeId: string): number {
  return Number.parseInt(removeHyphens(chargeId).slice(0, 13), 16)
}

/** Serializes a charge with its payment, if any. */
export function serializeCobWithPix(charge: CobRow, reader: PixReader) {
  const cob = serializeCob(charge, reader)
  return charge.status === 'paid' ? { ...cob, pix: [serializePix(charge, reader.key)] } : cob
}

/** Serializes the payment of a paid charge. */
export function serializePix(charge: ChargeRow & Pick<CobRow, 'repayments'>, key: string) {
  const devolucoes = (charge.repayments ?? []).map(serializeRepayment)
  return {
    endToEndId: charge.end_to_end_id ?? '',
    txid: txidOf(charge),
    valor: formatDecimalAmount(charge.amount),
    chave: key,
    horario: toTime(charge.paid_at ?? ''),
    ...(devolucoes.length > 0 && { devolucoes }),
  }
}

const NATURES = ['ORIGINAL', 'RETIRADA', 'MED_OPERACIONAL', 'MED_FRAUDE', 'MED_PIX_AUTOMATICO']
const REPAYMENT_STATUSES = {
  pending: 'EM_PROCESSAMENTO',
  completed: 'DEVOLVIDO',
  rejected: 'NAO_REALIZADO',
} as const
const TEXT_MAX = 140

export function serializeRepayment(repayment: Repayment) {
  const { id, external_id, amount, nature, description, status, problem } = repayment
  const { requested_at, settled_at } = repayment
  const rtrId = repayment.return_id ?? provisionalReturnId(id ?? '', requested_at ?? '')
  return {
    id: external_id ?? (id ? removeHyphens(id) : rtrId),
    rtrId,
    valor: formatDecimalAmount(amount),
    ...(nature && NATURES.includes(nature) && { natureza: nature }),
    ...(description && { descricao: description.slice(0, TEXT_MAX) }),
    horario: {
      ...(requested_at && { solicitacao: toTime(requested_at) }),
      ...(settled_at && { liquidacao: toTime(settled_at) }),
    },
    status: REPAYMENT_STATUSES[status],
    ...(problem && { motivo: problem.slice(0, TEXT_MAX) }),
  }
}

/** The standard requires an id before the bank has named its own. No bank in Brazil has the ISPB 99999999. */
function provisionalReturnId(refundId: string, requestedAt: string): string {
  const minute = requestedAt.replace(/\D/g, '').slice(0, 12)
  return `D99999999${minute}${removeHyphens(refundId).slice(-11)}`
}

/** Part of an event that API Pix knows: a refund of the merchant's, or money that the bank gave back. */
interface PixEvent {
  refund?: RefundRow
  /** The merchant's id of the refund, if it was requested by API Pix. */
  refund_reference?: string | null
  return?: { id: string; amount: number; nature: string | null; returned_at: string }
}

/**
 * Serializes the event of a payment, or of a repayment, as the body of a call to `{webhookUrl}/pix`. `resource` null: a test
 * that is about no payment. Neither is an event of another type, which the endpoint may have been given later.
 */
export function serializePixNotice(accountId: string, mode: Mode, resource: unknown) {
  const event = resource as (ChargeRow & PixEvent) | null
  if (event?.status !== 'paid') return { pix: [] }
  const { refund, refund_reference = null, ...rest } = event
  const { return: returned, ...charge } = rest
  const repayments = [
    ...(refund ? [toRepayment(refund, refund_reference)] : []),
    ...(returned ? [returnToRepayment(returned)] : []),
  ]
  return { pix: [serializePix({ ...charge, repayments }, accountKey(accountId, mode))] }
}

export function toRepayment(refund: RefundRow, external_id: string | null): Repayment {
  const { id, return_id, amount, status, created_at } = refund
  return {
    id,
    external_id,
    return_id,
    amount,
    nature: null,
    description: refund.reason,
    requested_at: created_at,
    settled_at: refund.completed_at,
    status,
    problem: refund.rejection_reason,
  }
}

function returnToRepayment({ id, amount, nature, returned_at }: Required<PixEvent>['return']) {
  const none = { id: null, external_id: null, description: null, requested_at: null, problem: null }
  const settled = { settled_at: returned_at, status: 'completed' as const }
  return { ...none, ...settled, return_id: id, amount, nature }
}
