import type { TrocoError } from '#lib/core/errors.ts'
import { type ErrorCode, REFUSALS } from '#lib/core/refusals.ts'

/** Types of problems that an operation names besides those of every operation. */
export interface ProblemTypes {
  /** Of a request that is wrong, or that the state of the entity does not allow. */
  invalid: keyof typeof TITLES
  /** Of an entity that does not exist. */
  missing?: keyof typeof TITLES
}

/** Of what is refused before an operation is known. */
export const GENERAL_PROBLEMS: ProblemTypes = { invalid: 'RequisicaoInvalida' }

/** All types of the standard that Troco uses, with what the standard says about each. */
const TITLES = {
  RequisicaoInvalida: 'Requisição inválida.',
  AcessoNegado: 'Requisição que viola alguma regra de autorização.',
  NaoEncontrado: 'Entidade não encontrada.',
  ErroInternoDoServidor: 'Condição inesperada ao processar a requisição.',
  ServicoIndisponivel: 'O serviço não está disponível no momento.',
  CobNaoEncontrado: 'Cobrança não encontrada para o txid informado.',
  CobOperacaoInvalida: 'A requisição não respeita o schema ou está semanticamente errada.',
  CobConsultaInvalida: 'Os parâmetros de consulta não respeitam o schema ou não fazem sentido.',
  PixNaoEncontrado: 'Pix não encontrado para o e2eid informado.',
  PixConsultaInvalida: 'Os parâmetros de consulta não respeitam o schema ou não fazem sentido.',
  PixDevolucaoNaoEncontrada: 'Devolução não encontrada para o e2eid informado.',
  PixDevolucaoInvalida: 'A requisição de devolução não respeita o schema ou não faz sentido.',
  WebhookNaoEncontrado: 'O webhook da chave não está estabelecido.',
  WebhookOperacaoInvalida: 'A requisição não respeita o schema ou está semanticamente errada.',
  WebhookConsultaInvalida: 'Os parâmetros de consulta não respeitam o schema ou não fazem sentido.',
} as const

/** What is wrong, in Portuguese, where the message of the code is for readers of English. */
const DETAILS: Partial<Record<ErrorCode, string>> = {
  unauthenticated: 'O token de acesso ou as credenciais faltam, são desconhecidos ou expiraram.',
  address_not_allowed: 'Este token de API não pode ser usado a partir deste endereço.',
  account_not_active: 'A conta não está ativa.',
  permission_denied: 'O token de API ou o escopo não permite esta operação.',
  not_in_contract: 'A conta não inclui esta função da API Pix.',
  live_mode_disabled: 'A conta não recebe em produção.',
  not_found: 'Este caminho não existe.',
  method_not_allowed: 'Este caminho não aceita o método.',
  too_many_requests: 'Requisições demais: aguarde o tempo de Retry-After.',
  test_quota_exceeded: 'O limite diário do modo de teste foi atingido.',
  malformed_json: 'O corpo não é JSON.',
  payload_too_large: 'O corpo é grande demais.',
  unsupported_media_type: 'O corpo deve ser application/json.',
  uri_too_long: 'A consulta tem mais de 2048 bytes ou 50 parâmetros.',
  service_unavailable: 'O serviço não está disponível no momento: repita a requisição.',
  placeholder_document: 'devedor deve ter o CPF ou CNPJ do próprio pagador.',
  limit_exceeded: 'valor.original está acima do limite desta conta por cobrança.',
  refused_by_bank: 'O banco recusou este campo.',
  not_paid: 'A cobrança não foi paga.',
  refund_window_closed: 'O Pix foi pago há mais de 90 dias.',
  refund_exceeds_remainder: 'valor excede o que resta do Pix, sem devoluções e contestações.',
  insufficient_balance: 'O saldo da conta não cobre valor.',
  limit_reached: 'A conta já tem o máximo de endereços de webhook.',
}

/** Names of fields in API Pix, by those that operations know. */
const FIELDS: Record<string, string> = {
  client_doc: 'devedor',
  expires_in: 'calendario.expiracao',
  url: 'webhookUrl',
}

/** Statuses that clients understand without the body; the standard has 400 for everything else of the kind. */
const OWN_STATUSES = [401, 403, 404, 405, 408, 413, 414, 415, 417, 429, 431, 503]

/** Describes a refusal as the standard does. `error` null: an internal error, whose reason is only in the log. */
export function describeProblem(
  error: TrocoError | null,
  types: ProblemTypes,
  correlationId?: string,
) {
  const sent = error ? REFUSALS[error.code].status : 500
  const status = sent === 500 || OWN_STATUSES.includes(sent) ? sent : 400
  const type = typeOf(status, types)
  const detail = error ? (DETAILS[error.code] ?? error.message) : TITLES.ErroInternoDoServidor
  const violacoes = error ? listViolations(error, types) : []
  return {
    type: `https://pix.bcb.gov.br/api/v2/error/${type}`,
    title: TITLES[type],
    status,
    detail: violacoes[0]?.razao ?? detail,
    ...(correlationId && { correlationId }),
    ...(violacoes.length > 0 && { violacoes }),
  }
}

function typeOf(status: number, { invalid, missing }: ProblemTypes): keyof typeof TITLES {
  if (status === 400) return invalid
  if (status === 404) return missing ?? 'NaoEncontrado'
  if (status === 401 || status === 403) return 'AcessoNegado'
  if (status === 429 || status === 503) return 'ServicoIndisponivel'
  return status === 500 ? 'ErroInternoDoServidor' : 'RequisicaoInvalida'
}

/** Maximum problems of a response: hostile bodies have thousands. */
const VIOLATIONS_MAX = 20

function listViolations(error: TrocoError, { invalid }: ProblemTypes) {
  const known = DETAILS[error.code]
  const all = Object.entries(error.fields ?? {}).flatMap(([field, messages]) =>
    messages.map(message => {
      const [place = field] = message.split(' ', 1)
      const path = place.startsWith(field) ? place : field
      return { razao: known ?? message, propriedade: FIELDS[path] ?? amountOf(path, invalid) }
    }),
  )
  return all.slice(0, VIOLATIONS_MAX)
}

function amountOf(path: string, invalid: string): string {
  if (path !== 'amount') return path
  return invalid === 'CobOperacaoInvalida' ? 'valor.original' : 'valor'
}
