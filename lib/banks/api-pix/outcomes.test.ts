import { describe, expect, test } from 'vitest'
import { PACED, type Reply } from '#lib/banks/api-pix/json.ts'
import {
  judge,
  type OrderIds,
  ROWS,
  SUBJECTS,
  type VerdictSubject,
} from '#lib/banks/api-pix/outcomes.ts'

const failure = (code: string, isSent: boolean): Reply => ({ kind: 'failure', code, isSent })
const response = (status: number, body: unknown = {}): Reply => ({ kind: 'response', status, body })
const noJson = (status: number): Reply => ({ kind: 'response', status, body: undefined })
/** An error as Efí reports most of them. */
const efi = (status: number, nome: string, mensagem = '') => response(status, { nome, mensagem })
/** An error as the standard has it. */
const standard = (status: number, name: string, violacoes: object[] = []) =>
  response(status, { type: `https://pix.bcb.gov.br/api/v2/error/${name}`, violacoes })
const aboutToken = (reply: Reply): Reply => ({ ...reply, isAboutToken: true })

const ORDER: OrderIds = { id: 'abc123', ownKey: 'pix@example.com' }
const COLUMNS = 'charge | refund | payout | question | removal'

/** Facts about banks, written down apart from the table: each row with replies that belong to it. */
const EXPECTED: Record<keyof typeof ROWS, { ends: string; replies: Reply[] }> = {
  'rate limited': {
    ends: 'retryable | retryable | retryable | retryable | retryable',
    replies: [
      noJson(429),
      efi(400, 'BaldeFichasVazio'),
      aboutToken(response(429)),
      failure(PACED, false),
    ],
  },
  'certificate refused': {
    ends: 'blocked | blocked | blocked | blocked | blocked',
    replies: [
      failure('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', true),
      failure('ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', true),
      aboutToken(failure('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', true)),
      failure('ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', false),
      failure('CLIENT_CERTIFICATE_EXPIRED', true),
      aboutToken(failure('CLIENT_CERTIFICATE_REFUSED', true)),
    ],
  },
  'bank not trusted': {
    ends: 'blocked | blocked | blocked | blocked | blocked',
    replies: [
      'CERT_HAS_EXPIRED',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ].map(code => failure(code, false)),
  },
  'private address': {
    ends: 'blocked | blocked | blocked | blocked | blocked',
    replies: [failure('PRIVATE_ADDRESS', false)],
  },
  'access denied': {
    ends: 'blocked | blocked | blocked | blocked | blocked',
    replies: [
      standard(403, 'AcessoNegado'),
      response(403, { error: 'insufficient_scope' }),
      aboutToken(response(400, { error: 'invalid_scope' })),
    ],
  },
  'credentials refused': {
    ends: 'blocked | blocked | blocked | blocked | blocked',
    replies: [
      response(401),
      noJson(401),
      aboutToken(response(400, { error: 'invalid_client' })),
      aboutToken(response(401)),
      aboutToken(response(403)),
    ],
  },
  'no token, reset': {
    ends: 'retryable | retryable | retryable | retryable | retryable',
    replies: ['ECONNRESET', 'EPIPE'].map(code => aboutToken(failure(code, true))),
  },
  'no token': {
    ends: 'retryable | retryable | retryable | retryable | retryable',
    replies: [
      aboutToken(failure('RESPONSE_TIMEOUT', true)),
      aboutToken(response(500)),
      aboutToken(response(200, {})),
      aboutToken(failure('ECONNREFUSED', false)),
    ],
  },
  'no connection': {
    ends: 'retryable | retryable | retryable | retryable | retryable',
    replies: ['ECONNREFUSED', 'ENOTFOUND', 'CONNECT_TIMEOUT', 'ECONNRESET'].map(code =>
      failure(code, false),
    ),
  },
  'no response': {
    ends: 'unknown | unknown | unknown | unknown | unknown',
    replies: [
      ...['RESPONSE_TIMEOUT', 'ECONNRESET', 'RESPONSE_TOO_LARGE'].map(code => failure(code, true)),
      response(500),
      response(503),
      noJson(504),
      efi(500, 'erro_aplicacao'),
      noJson(200),
      response(302),
      response(408),
      noJson(404),
    ],
  },
  'document blocked': {
    ends: 'blocked | unknown | blocked | rejected | rejected',
    replies: [efi(400, 'documento_bloqueado')],
  },
  'duplicate id': {
    ends: 'ask | ask | ask | rejected | ask',
    replies: [
      efi(409, 'txid_duplicado'),
      efi(409, 'devolucao_id_duplicado'),
      efi(409, 'id_envio_duplicado'),
      standard(400, 'PixDevolucaoInvalida', [{ propriedade: 'devolucao.id', razao: 'usado' }]),
      standard(400, 'PixDevolucaoInvalida', [{ razao: 'O id abc123 já existe.' }]),
    ],
  },
  'own key refused': {
    ends: 'blocked | unknown | blocked | rejected | rejected',
    replies: [
      efi(400, 'chave_invalida', 'A chave pix@example.com não existe'),
      efi(400, 'chave_invalida', 'A chave do pagador não tem webhook'),
      standard(400, 'CobOperacaoInvalida', [{ propriedade: 'cob.chave', razao: 'não é sua' }]),
    ],
  },
  'payee refused': {
    ends: 'rejected | unknown | rejected | rejected | rejected',
    replies: [efi(400, 'chave_invalida', 'A chave não existe')],
  },
  'owner differs': {
    ends: 'rejected | unknown | rejected | rejected | rejected',
    replies: [efi(400, 'chave_nao_pertence_ao_documento')],
  },
  'payment denied': {
    ends: 'rejected | unknown | rejected | rejected | rejected',
    replies: [efi(422, 'pagamento_negado')],
  },
  'wrong value': {
    ends: 'rejected | rejected | rejected | rejected | rejected',
    replies: [efi(400, 'valor_invalido')],
  },
  'wrong operation': {
    ends: 'ask | ask | unknown | rejected | ask',
    replies: [
      standard(400, 'CobOperacaoInvalida', [{ propriedade: 'cob.valor', razao: 'zero' }]),
      efi(400, 'status_cobranca_invalido'),
      standard(400, 'PixDevolucaoInvalida', [{ propriedade: 'devolucao.valor', razao: 'alto' }]),
    ],
  },
  'not found': {
    ends: 'rejected | unknown | unknown | none | none',
    replies: [
      standard(404, 'CobNaoEncontrado'),
      standard(404, 'PixEnviadoNaoEncontrado'),
      efi(400, 'cobranca_nao_encontrada'),
      efi(400, 'devolucao_nao_encontrada'),
      response(404, { mensagens: [{ mensagem: 'Registro não encontrado', codigo: 1 }] }),
    ],
  },
  'other refusal': {
    ends: 'rejected | unknown | unknown | rejected | rejected',
    replies: [
      standard(400, 'RequisicaoInvalida'),
      efi(400, 'json_invalido'),
      response(422),
      standard(410, 'PermanentementeRemovido'),
      response(404, { message: 'no Route matched' }),
      response(404, null),
    ],
  },
}

describe(`outcomes of a bank (${COLUMNS}):`, () => {
  const cases = Object.entries(EXPECTED).flatMap(([row, { ends, replies }]) =>
    replies.map(reply => [row, ends, reply] as const),
  )
  test('every row of the table has a test', () => {
    expect(Object.keys(EXPECTED)).toEqual(Object.keys(ROWS))
  })

  test.each(cases)('%s: %s (%j)', (_, ends, reply) => {
    const outcomes = SUBJECTS.map((subject: VerdictSubject) => judge(reply, subject, ORDER).outcome)
    expect(outcomes.join(' | ')).toBe(ends)
  })
})

describe('an outcome', () => {
  test.each<[Reply, object]>([
    [failure('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', true), { code: 'certificate' }],
    [response(401), { code: 'credentials' }],
    [response(403), { code: 'scope' }],
    [efi(400, 'documento_bloqueado'), { code: 'document' }],
    [efi(400, 'chave_invalida', 'pix@example.com'), { code: 'key' }],
    [
      { ...response(429), retryAfterMs: 7_000 },
      { isRateLimit: true, retryAfterMs: 7_000 },
    ],
    [efi(400, 'chave_invalida'), { code: 'key_refused', params: {} }],
    [efi(400, 'chave_nao_pertence_ao_documento'), { code: 'owner_differs' }],
    [efi(422, 'pagamento_negado'), { code: 'denied' }],
  ])('names who must act: %j', (reply, expected) => {
    expect(judge(reply, 'payout', ORDER)).toMatchObject(expected)
  })

  test('is a failure of the connection only where there was none', () => {
    expect(judge(failure('ECONNREFUSED', false), 'charge')).not.toHaveProperty('isRateLimit')
  })

  test.each<[string, string | undefined]>([
    ['cob.valor.original', 'amount'],
    ['cob.calendario.expiracao', 'expiry'],
    ['cob.devedor.cpf', 'document'],
    ['cob.solicitacaoPagador', undefined],
  ])('of a charge names the field of the caller for %s', (propriedade, field) => {
    const reply = standard(400, 'RequisicaoInvalida', [{ propriedade, razao: 'inválido' }])
    const { field: found } = judge(reply, 'charge') as { field?: string }
    expect(found).toBe(field)
  })

  test('keeps the text and correlationId for staff, and no refused value', () => {
    const violacoes = [{ propriedade: 'devedor.cpf', razao: 'inválido', valor: '52998224725' }]
    const detail = 'A cobrança não respeita o schema.'
    const reply = response(400, { nome: '', detail, violacoes, correlationId: 'c0ffee' })
    expect(judge(reply, 'charge')).toMatchObject({
      bankText: `devedor.cpf; ${detail}; inválido; correlationId c0ffee`,
    })
  })
})
