import { makeHexId } from './formats.ts'
import type { Kind } from './settings.ts'

interface RefusalRow {
  status: number
  /** Last part of the problem's type in the standard. */
  type: string
  /** Status and `nome` at Efí, where that has its own shape. */
  efi?: [status: number, nome: string]
}

/** Every refusal of the bank, in the standard's shape and in Efí's. */
export const REFUSALS = {
  invalidRequest: { status: 400, type: 'RequisicaoInvalida' },
  notFound: { status: 404, type: 'NaoEncontrado' },
  accessDenied: { status: 403, type: 'AcessoNegado' },
  internalError: { status: 500, type: 'ErroInternoDoServidor', efi: [500, 'erro_aplicacao'] },
  chargeNotFound: {
    status: 404,
    type: 'CobNaoEncontrado',
    efi: [400, 'cobranca_nao_encontrada'],
  },
  chargeInvalid: { status: 400, type: 'CobOperacaoInvalida', efi: [400, 'valor_invalido'] },
  chargeKeyInvalid: { status: 400, type: 'CobOperacaoInvalida', efi: [400, 'chave_invalida'] },
  chargeNotActive: {
    status: 400,
    type: 'CobOperacaoInvalida',
    efi: [400, 'status_cobranca_invalido'],
  },
  txidTaken: { status: 400, type: 'CobOperacaoInvalida', efi: [409, 'txid_duplicado'] },
  chargeQueryInvalid: { status: 400, type: 'CobConsultaInvalida', efi: [400, 'valor_invalido'] },
  locationNotFound: { status: 404, type: 'PayloadLocationNaoEncontrado' },
  locationInvalid: { status: 400, type: 'PayloadLocationOperacaoInvalida' },
  locationQueryInvalid: { status: 400, type: 'PayloadLocationConsultaInvalida' },
  pixNotFound: { status: 404, type: 'PixNaoEncontrado', efi: [400, 'pix_nao_encontrado'] },
  pixQueryInvalid: { status: 400, type: 'PixConsultaInvalida', efi: [400, 'valor_invalido'] },
  refundNotFound: {
    status: 404,
    type: 'PixDevolucaoNaoEncontrada',
    efi: [400, 'devolucao_nao_encontrada'],
  },
  refundInvalid: { status: 400, type: 'PixDevolucaoInvalida', efi: [400, 'valor_invalido'] },
  refundIdTaken: {
    status: 400,
    type: 'PixDevolucaoInvalida',
    efi: [409, 'devolucao_id_duplicado'],
  },
  webhookNotFound: { status: 404, type: 'WebhookNaoEncontrado' },
  webhookInvalid: {
    status: 400,
    type: 'WebhookOperacaoInvalida',
    efi: [400, 'webhook_invalido'],
  },
  webhookQueryInvalid: { status: 400, type: 'WebhookConsultaInvalida' },
  accountBlocked: { status: 403, type: 'AcessoNegado', efi: [400, 'documento_bloqueado'] },
  payoutNotFound: { status: 404, type: 'PixEnviadoNaoEncontrado' },
  payoutInvalid: { status: 400, type: 'RequisicaoInvalida', efi: [400, 'valor_invalido'] },
  payoutIdTaken: { status: 409, type: 'RequisicaoInvalida', efi: [409, 'id_envio_duplicado'] },
  payerKeyInvalid: { status: 400, type: 'RequisicaoInvalida', efi: [400, 'chave_invalida'] },
  payeeKeyInvalid: { status: 400, type: 'RequisicaoInvalida', efi: [400, 'chave_invalida'] },
  payeeNotOwner: {
    status: 400,
    type: 'RequisicaoInvalida',
    efi: [400, 'chave_nao_pertence_ao_documento'],
  },
  disputeNotFound: { status: 404, type: 'NaoEncontrado' },
  disputeDefended: { status: 409, type: 'RequisicaoInvalida' },
  disputeTooLate: { status: 422, type: 'RequisicaoInvalida' },
  reportInvalid: { status: 400, type: 'ExtratoConciliacaoConsultaInvalida' },
  payoutDenied: { status: 422, type: 'RequisicaoInvalida', efi: [422, 'pagamento_negado'] },
  unnamedPayout: { status: 400, type: 'EnvioNaoPermitido', efi: [400, 'envio_nao_permitido'] },
  unnamedRefund: {
    status: 400,
    type: 'DevolucaoNaoPermitida',
    efi: [400, 'valor_devolucao_invalido'],
  },
  limitExceeded: { status: 429, type: 'LimiteExcedido', efi: [429, 'limite_excedido'] },
  bucketEmpty: { status: 429, type: 'RequisicaoInvalida', efi: [429, 'BaldeFichasVazio'] },
} as const satisfies Record<string, RefusalRow>

export type RefusalName = keyof typeof REFUSALS

export interface Violation {
  reason: string
  property: string
  value?: string
}

export class Refusal extends Error {
  readonly refusal: RefusalName
  readonly violations: Violation[]
  /** The body has another shape than documented; Efí reports that in a shape of its own. */
  readonly isShape: boolean

  constructor(refusal: RefusalName, detail: string, violations: Violation[] = [], isShape = false) {
    super(detail)
    this.refusal = refusal
    this.violations = violations
    this.isShape = isShape
  }
}

export function renderRefusal(kind: Kind, { refusal, message, violations, isShape }: Refusal) {
  const row: RefusalRow = REFUSALS[refusal]
  const headers: Record<string, string> =
    refusal === 'bucketEmpty' ? { 'retry-after': '2', 'bucket-size': '0' } : {}
  if (kind === 'efi' && isShape) {
    const erros = violations.map(({ reason, property }) => ({
      chave: property.split('.').at(-1),
      caminho: `.body.${property}`,
      mensagem: reason,
    }))
    const body = { nome: 'json_invalido', mensagem: message, erros }
    return { status: 400, body, headers }
  }
  if (kind === 'efi' && refusal === 'accessDenied') {
    const body = { error: 'insufficient_scope', error_description: message }
    return { status: 403, body, headers }
  }
  if (kind === 'efi' && row.efi) {
    const [status, nome] = row.efi
    return { status, body: { nome, mensagem: message }, headers }
  }
  const body = {
    type: `https://pix.bcb.gov.br/api/v2/error/${row.type}`,
    title: TITLES[row.status] ?? 'Erro',
    status: row.status,
    detail: message,
    correlationId: makeHexId(),
    violacoes: violations.map(({ reason, property, value }) => ({
      razao: reason,
      propriedade: property,
      valor: value,
    })),
  }
  return {
    status: row.status,
    body,
    headers: { 'content-type': 'application/problem+json', ...headers },
  }
}

const TITLES: Record<number, string> = {
  400: 'Requisição inválida.',
  403: 'Acesso negado.',
  404: 'Não encontrado.',
  409: 'Conflito.',
  422: 'Requisição recusada.',
  429: 'Muitas requisições.',
  500: 'Erro interno.',
}
