import { elementsOf, fieldsOf, PACED, type Reply, textOf } from '#lib/banks/api-pix/json.ts'
import type { BankRefusal, BlockCode, ChargeField, GatewayResult } from '#lib/banks/gateway.ts'

/** What a call is about. `question` and `removal` are about a charge, refund or payout that may exist. */
export const SUBJECTS = ['charge', 'refund', 'payout', 'question', 'removal'] as const
export type VerdictSubject = (typeof SUBJECTS)[number]

/**
 * none: the bank does not have it. ask: query the bank by the id; not found, the outcome is unknown.
 * ask, else rejected: not found, the bank refused something new.
 */
type End = Exclude<GatewayResult<never>['outcome'], 'ok'> | ('none' | 'ask' | 'ask, else rejected')

interface Row {
  matches: (reply: Reply, fault: Fault, order: OrderIds) => boolean
  ends: Record<VerdictSubject, End>
  block?: BlockCode
  refusal?: Exclude<BankRefusal['code'], 'other'>
  /** What the code of a failure means, for staff. */
  explanation?: string
}

export interface OrderIds {
  /** Id under which the bank has the charge, refund or payout. */
  id?: string
  /** The operator's key, from which a payout is paid. */
  ownKey?: string
}

const ALERT =
  /^CLIENT_CERTIFICATE_|_ALERT_.*(CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)/
const UNTRUSTED = /CERT|SIGNATURE|INVALID_CA|HOSTNAME_MISMATCH/
const NOT_FOUND = /n[aã]o_?\s?(foi\s)?encontrad/i

const always = (end: End) => of([end, end, end, end, end])
/** The refund is not about a payee. */
const PAYEE_ENDS = of(['rejected', 'unknown', 'rejected', 'rejected', 'rejected'])
const statusOf = (reply: Reply) => (reply.kind === 'response' ? reply.status : 0)
const isFailure = (reply: Reply, code: RegExp) => reply.kind === 'failure' && code.test(reply.code)
const named =
  (...names: string[]): Row['matches'] =>
  (_, fault) =>
    names.includes(fault.name)

/**
 * Every reply that is no success ends by its first row. For money that goes out, whatever no row
 * before the last names is unknown. Columns: charge, refund, payout, question, removal.
 */
export const ROWS = {
  'rate limited': {
    matches: (reply, { name }) =>
      statusOf(reply) === 429 || name === 'BaldeFichasVazio' || isFailure(reply, RegExp(PACED)),
    ends: always('retryable'),
  },
  'certificate refused': {
    matches: reply => isFailure(reply, ALERT),
    ends: always('blocked'),
    block: 'certificate',
    explanation: 'the bank refuses the client certificate',
  },
  'bank not trusted': {
    matches: reply => reply.kind === 'failure' && !reply.isSent && UNTRUSTED.test(reply.code),
    ends: always('blocked'),
    block: 'certificate',
    explanation: 'the certificate of the bank is not trusted',
  },
  'private address': {
    matches: reply => isFailure(reply, /^PRIVATE_ADDRESS$/),
    ends: always('blocked'),
    block: 'other',
  },
  'access denied': {
    matches: (reply, { name }) =>
      ['insufficient_scope', 'invalid_scope'].includes(name) ||
      (statusOf(reply) === 403 && !reply.isAboutToken),
    ends: always('blocked'),
    block: 'scope',
  },
  'credentials refused': {
    matches: reply =>
      statusOf(reply) === 401 ||
      (reply.isAboutToken === true && [400, 403].includes(statusOf(reply))),
    ends: always('blocked'),
    block: 'credentials',
  },
  'no token, reset': {
    matches: reply => reply.isAboutToken === true && isFailure(reply, /^(ECONNRESET|EPIPE)$/),
    ends: always('retryable'),
    explanation: 'the bank may refuse the client certificate',
  },
  'no token': { matches: reply => reply.isAboutToken === true, ends: always('retryable') },
  'no connection': {
    matches: reply => reply.kind === 'failure' && !reply.isSent,
    ends: always('retryable'),
  },
  'no response': {
    matches: reply =>
      reply.kind === 'failure' ||
      reply.body === undefined ||
      Math.floor(reply.status / 100) !== 4 ||
      [408, 425].includes(reply.status),
    ends: always('unknown'),
  },
  'document blocked': {
    matches: named('documento_bloqueado'),
    ends: of(['blocked', 'unknown', 'blocked', 'rejected', 'rejected']),
    block: 'document',
  },
  'duplicate id': {
    matches: (reply, fault, { id }) =>
      statusOf(reply) === 409 || (fault.name === 'PixDevolucaoInvalida' && namesId(fault, id)),
    ends: of(['ask', 'ask', 'ask', 'rejected', 'ask']),
  },
  'own key refused': {
    matches: (_, fault, { ownKey }) =>
      (fault.name === 'chave_invalida' && (ownKey === undefined || namesKey(fault, ownKey))) ||
      fault.places.some(place => /(^|\.)chave$/.test(place) && !place.includes('favorecido')),
    ends: of(['blocked', 'unknown', 'blocked', 'rejected', 'rejected']),
    block: 'key',
  },
  'payee refused': {
    matches: named('chave_invalida'),
    ends: PAYEE_ENDS,
    refusal: 'key_refused',
  },
  'owner differs': {
    matches: named('chave_nao_pertence_ao_documento'),
    ends: PAYEE_ENDS,
    refusal: 'owner_differs',
  },
  'payment denied': {
    matches: named('pagamento_negado'),
    ends: PAYEE_ENDS,
    refusal: 'denied',
  },
  'wrong value': {
    matches: named('valor_invalido'),
    ends: always('rejected'),
    refusal: 'amount_refused',
  },
  'wrong operation': {
    matches: named('CobOperacaoInvalida', 'status_cobranca_invalido', 'PixDevolucaoInvalida'),
    ends: of(['ask, else rejected', 'ask, else rejected', 'unknown', 'rejected', 'ask']),
  },
  'not found': {
    matches: (reply, { name, texts }) =>
      [400, 404].includes(statusOf(reply)) && [name, ...texts].some(text => NOT_FOUND.test(text)),
    ends: of(['rejected', 'unknown', 'unknown', 'none', 'none']),
  },
  'other refusal': {
    matches: () => true,
    ends: of(['rejected', 'unknown', 'unknown', 'rejected', 'rejected']),
  },
} satisfies Record<string, Row>

export type Verdict =
  | GatewayResult<never>
  | { outcome: 'none' }
  | { outcome: 'ask'; ifAbsent: GatewayResult<never> }

/** Judges a reply that is no success. */
export function judge(reply: Reply, subject: VerdictSubject, order: OrderIds = {}): Verdict {
  const fault = readFault(reply.kind === 'response' ? reply.body : null)
  const row = Object.values<Row>(ROWS).find(({ matches }) => matches(reply, fault, order))
  return row ? resultOf(row, row.ends[subject], reply, fault) : unknown('no row')
}

/** Judges a failed question about something that the bank must have: without it, the outcome is unknown. */
export function judgeQuestion(reply: Reply, reasonIfAbsent: string): GatewayResult<never> {
  const verdict = judge(reply, 'question')
  const isAbsent = verdict.outcome === 'none' || verdict.outcome === 'ask'
  return isAbsent ? unknown(reasonIfAbsent) : verdict
}

function resultOf(row: Row, end: End, reply: Reply, fault: Fault): Verdict {
  const { block, refusal, explanation } = row
  const source = reply.kind === 'failure' ? reply.code : `status ${reply.status}`
  const reason = describeFault(fault) ?? (explanation ? `${explanation}: ${source}` : source)
  const pause = reply.retryAfterMs === undefined ? {} : { retryAfterMs: reply.retryAfterMs }
  const isRateLimit = ROWS['rate limited'].matches(reply, fault)
  const field = findChargeField(fault)
  const rejected: GatewayResult<never> = {
    outcome: 'rejected',
    code: refusal ?? 'unspecified',
    params: {},
    bankText: reason,
    ...(field && { field }),
  }
  if (end === 'none') return { outcome: 'none' }
  if (end === 'ask') return { outcome: 'ask', ifAbsent: unknown(reason) }
  if (end === 'ask, else rejected') return { outcome: 'ask', ifAbsent: rejected }
  if (end === 'rejected') return rejected
  if (end === 'blocked') return { outcome: 'blocked', code: block ?? 'other', reason, ...pause }
  if (end === 'unknown') return unknown(reason)
  return { outcome: 'retryable', reason, ...pause, ...(isRateLimit && { isRateLimit }) }
}

export function unknown(reason: string): GatewayResult<never> {
  return { outcome: 'unknown', reason }
}

function of([charge, refund, payout, question, removal]: [End, End, End, End, End]) {
  return { charge, refund, payout, question, removal }
}

function namesId({ places, texts }: Fault, id = ''): boolean {
  return (
    places.some(place => /(^|\.)id$/.test(place)) ||
    (id !== '' && texts.some(text => text.includes(id)))
  )
}

function namesKey({ places, texts }: Fault, ownKey: string): boolean {
  return [...places, ...texts].some(text => text.includes(ownKey) || text.includes('pagador'))
}

/** An error response: RFC 7807 as the standard has it, Efí's `nome` and `mensagem`, or OAuth's `error`. */
interface Fault {
  /** Such as `CobOperacaoInvalida` or `txid_duplicado`; empty if the bank names none. */
  name: string
  /** Paths of the fields that the bank refuses. */
  places: string[]
  /** The bank's sentences, for staff. */
  texts: string[]
  correlationId: string | null
}

function readFault(body: unknown): Fault {
  const fields = fieldsOf(body)
  const lists = [fields.violacoes, fields.violations, fields.erros, fields.mensagens]
  const details = lists.flatMap(elementsOf).map(fieldsOf)
  const type = textOf(fields.type)?.split('/').at(-1)
  return {
    name: textOf(fields.nome) ?? type ?? textOf(fields.error) ?? '',
    places: present(details.flatMap(({ propriedade, caminho }) => [propriedade, caminho])),
    texts: present([
      fields.detail ?? fields.title,
      fields.mensagem,
      fields.error_description,
      ...details.flatMap(({ razao, mensagem }) => [razao, mensagem]),
    ]),
    correlationId: textOf(fields.correlationId),
  }
}

/** Well above what is stored: a text is cut only after its secrets were replaced. */
const TEXT_MAX = 8_000

/** Returns what staff reads. It omits refused values, which may be a payer's document. */
function describeFault({ name, places, texts, correlationId }: Fault): string | null {
  const id = correlationId === null ? [] : [`correlationId ${correlationId}`]
  return [name, ...places, ...texts, ...id].filter(Boolean).join('; ').slice(0, TEXT_MAX) || null
}

const CHARGE_FIELDS: [ChargeField, RegExp][] = [
  ['expiry', /expira|calendario/i],
  ['document', /devedor|cpf|cnpj/i],
  ['amount', /valor|original/i],
]

/** Returns the field of a charge that only its creator can change, if the bank names one. */
function findChargeField({ name, places, texts }: Fault): ChargeField | undefined {
  // The texts of other errors mention fields that are right.
  const where = [...places, ...(name === 'valor_invalido' ? texts : [])]
  return CHARGE_FIELDS.find(([, words]) => where.some(place => words.test(place)))?.[0]
}

function present(values: unknown[]): string[] {
  return values.map(textOf).filter(text => text !== null)
}
