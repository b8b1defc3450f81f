import { z } from 'zod'
import type { AccountConfig, Bank } from './bank.ts'
import { toReais } from './formats.ts'
import { type Call, type Reply, type Route, readBody } from './route.ts'

export const ACCOUNT_ROUTES: Route[] = [
  {
    method: 'GET',
    path: '/v2/gn/saldo',
    scope: 'gn.balance.read',
    kind: 'efi',
    handle: readBalance,
  },
  {
    method: 'GET',
    path: '/v2/gn/config',
    scope: 'gn.settings.read',
    kind: 'efi',
    handle: bank => ({ status: 200, body: bank.config }),
  },
  {
    method: 'PUT',
    path: '/v2/gn/config',
    scope: 'gn.settings.write',
    kind: 'efi',
    handle: putConfig,
  },
  {
    method: 'GET',
    path: '/v2/gn/chaves/balde',
    scope: 'gn.keys.bucket.read',
    kind: 'efi',
    handle: readBuckets,
  },
]

/** Guesses, which limit no test. */
const BUCKET = {
  capacidade: 1_000,
  fichasDisponiveis: 1_000,
  taxaDeReposicaoFichas: 20,
  periodoReposicaoEmSegundos: 60,
}

const KEY_CONFIG = z.strictObject({
  recebimento: z.strictObject({
    txidObrigatorio: z.boolean(),
    recusarTipoPessoa: z.enum(['PF', 'PJ']).optional(),
    qrCodeEstatico: z.strictObject({ recusarTodos: z.boolean() }),
    documentoPagadorIgualDevedor: z.boolean().optional(),
    webhook: z
      .strictObject({
        notificacao: z.strictObject({ tarifa: z.boolean(), pagador: z.boolean() }).optional(),
        notificar: z.strictObject({ pixSemTxid: z.boolean() }).optional(),
      })
      .optional(),
  }),
  envio: z
    .strictObject({
      webhook: z.strictObject({
        notificacao: z.strictObject({ tarifa: z.boolean(), favorecido: z.boolean() }),
      }),
    })
    .optional(),
})
const CONFIG: z.ZodType<AccountConfig> = z.strictObject({
  pix: z.strictObject({
    receberSemChave: z.boolean(),
    chaves: z.record(z.string(), KEY_CONFIG).optional(),
  }),
})

/** The balance is what can be used; blocked amounts are shown on request. */
function readBalance(bank: Bank, { query }: Call): Reply {
  const { book, blocked, settings } = bank
  const at = new Date(bank.now().getTime() - settings.habits.balanceBehindMs)
  const med = toReais(blocked)
  const bloqueios =
    query.get('bloqueios') === 'true' ? { judicial: toReais(0), med, total: med } : undefined
  return { status: 200, body: { saldo: toReais(book.balanceAt(at) - blocked), bloqueios } }
}

/** Reports buckets of key look-ups that stay full. */
function readBuckets(): Reply {
  const baldeA = { tiposChave: ['cpf', 'cnpj', 'evp'], ...BUCKET }
  const baldeB = { tiposChave: ['telefone', 'email'], ...BUCKET }
  return { status: 200, body: { baldeA, baldeB } }
}

function putConfig(bank: Bank, { body }: Call): Reply {
  bank.config = readBody(CONFIG, body, 'invalidRequest')
  return { status: 204 }
}
