import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { EfiAccount, newPayout, PAYING_KEY } from '#e2e/banks/efi-account.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'

let account: EfiAccount
beforeAll(async () => {
  account = await EfiAccount.open()
})
afterAll(() => account.close())
afterEach(() => account.bank.run('clearFaults'))

type Shape = (status: number, name: string, text: string) => object
const SHAPES: Record<string, Shape> = {
  'nome and mensagem': (_, nome, mensagem) => ({ nome, mensagem }),
  'RFC 7807': (status, name, detail) => ({
    type: `https://pix.bcb.gov.br/api/v2/error/${name}`,
    title: name,
    status,
    detail,
    correlationId: 'c0ffee',
    violacoes: [],
  }),
}

/** Status, name, text, and what becomes of a payout and of a question about one. */
const ROWS: [number, string, string, string, string][] = [
  [400, 'chave_invalida', 'A chave do favorecido não existe', 'rejected', 'rejected'],
  [400, 'chave_invalida', `A chave ${PAYING_KEY} não é desta conta`, 'blocked', 'rejected'],
  [400, 'chave_invalida', 'A chave do pagador não tem webhook', 'blocked', 'rejected'],
  [400, 'chave_nao_pertence_ao_documento', '', 'rejected', 'rejected'],
  [400, 'valor_invalido', '', 'rejected', 'rejected'],
  [422, 'pagamento_negado', '', 'rejected', 'rejected'],
  [400, 'documento_bloqueado', '', 'blocked', 'rejected'],
  [401, 'NaoAutorizado', '', 'blocked', 'blocked'],
  [403, 'AcessoNegado', '', 'blocked', 'blocked'],
  [403, 'insufficient_scope', '', 'blocked', 'blocked'],
  [409, 'id_envio_duplicado', '', 'unknown', 'rejected'],
  [429, 'BaldeFichasVazio', '', 'retryable', 'retryable'],
  [429, 'LimiteExcedido', '', 'retryable', 'retryable'],
  [404, 'PixEnviadoNaoEncontrado', '', 'unknown', 'absent'],
  [400, 'pix_nao_encontrado', '', 'unknown', 'absent'],
  [404, 'RotaDesconhecida', '', 'unknown', 'rejected'],
  [400, 'json_invalido', '', 'unknown', 'rejected'],
  [400, 'RequisicaoInvalida', '', 'unknown', 'rejected'],
  [410, 'PermanentementeRemovido', '', 'unknown', 'rejected'],
  [418, 'erro_que_ninguem_conhece', '', 'unknown', 'rejected'],
  [500, 'erro_aplicacao', '', 'unknown', 'unknown'],
  [503, 'ServicoIndisponivel', '', 'unknown', 'unknown'],
  [504, 'IndisponibilidadePorTempoEsgotado', '', 'unknown', 'unknown'],
  [302, 'Movido', '', 'unknown', 'unknown'],
]

const outcomeOf = (result: GatewayResult<unknown>) =>
  result.outcome === 'ok' && result.value === null ? 'absent' : result.outcome

describe.each(Object.entries(SHAPES))('an error in the shape %s:', (_, shape) => {
  test.each(ROWS)('%i %s (%s) is %s for a payout, %s for a question', async (...row) => {
    const [status, name, text, ofPayout, ofQuestion] = row
    const fault = {
      kind: 'respond',
      status,
      body: JSON.stringify(shape(status, name, text)),
    } as const
    const respond = (path: string) =>
      // Twice, because a refused token is renewed.
      account.fail({ ...fault, path, times: status === 401 ? 2 : 1 })
    const order = newPayout()
    await respond('/v3/gn/pix')
    expect(outcomeOf(await account.send(order))).toBe(ofPayout)
    await respond('/v2/gn/pix/enviados')
    expect(outcomeOf(await account.find(order))).toBe(ofQuestion)
    expect(await account.readPaidOut()).toBe(0)
  })
})
