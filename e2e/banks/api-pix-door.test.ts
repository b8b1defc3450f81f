import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAt } from '#e2e/banks/open.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { assignConnections } from '#lib/accounts/connections.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { accountKey } from '#lib/api-pix/wire.ts'
import { checkConnection } from '#lib/banks/connections.ts'
import { createPaymentReader } from '#lib/charges/read-payments.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  startApi,
} from '#lib/testing/fixtures.ts'
import { makeOrdersDue, sendDueRefunds } from '#lib/testing/orders.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

// Its connection is no longer served when the bank has ended.
inOwnDatabase()

const SYSTEM = { type: 'system' } as const

let bank: RunningBank
let api: Api
let merchant: Account
let access: string

beforeAll(async () => {
  bank = await startBank({ openingBalance: 100_000 })
  api = await startApi()
  merchant = await makeMerchant()
  const { id: receiving_id } = await openAt(bank)
  await checkConnection(receiving_id, SYSTEM)
  await assignConnections(merchant.id, { receiving_id, paying_id: null }, SYSTEM)
  const { id, token } = await issueToken(
    { accountId: merchant.id, mode: 'live', name: 'ERP', permissions: [...PERMISSIONS] },
    SYSTEM,
  )
  const authorization = `Basic ${Buffer.from(`${id}:${token}`).toString('base64')}`
  const body = { grant_type: 'client_credentials' }
  const headers = { authorization }
  const issued = await call(api.url, 'POST', '/pix/oauth/token', { headers, body })
  access = issued.body.access_token
})

afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
  await bank.stop()
})

const send = (method: string, path: string, body?: object) =>
  call(api.url, method, `/pix/v2${path}`, { token: access, body })
const newTxid = () => removeHyphens(newId())
const put = (txid: string) =>
  send('PUT', `/cob/${txid}`, {
    calendario: { expiracao: 3600 },
    valor: { original: '37.00' },
    chave: accountKey(merchant.id, 'live'),
  })

/** The bank knows the charge by another txid. */
async function chargeAtBank(externalId: string) {
  const { txid } = await db().charge.findFirstOrThrow({ where: { externalId } })
  const { charges } = await bank.run('readRecords')
  return charges.find(charge => charge.txid === txid)
}

test('in live mode, a bank of API Pix stands behind: it is paid, refunded and told of a removal', async () => {
  const txid = newTxid()
  const { status, body } = await put(txid)
  expect([status, body.status]).toEqual([201, 'ATIVA'])
  const known = await chargeAtBank(txid)
  expect(known?.txid).toMatch(/^[0-9a-f]{32}$/)
  expect(known?.txid).not.toBe(txid)
  expect((await put(txid)).body).toEqual(body)

  const [payment] = await bank.run('pay', { txid: known?.txid ?? '', secondsAgo: 5 })
  const reader = createPaymentReader(() => new Date())
  await reader.run()
  await reader.idle()
  const paid = await send('GET', `/cob/${txid}`)
  expect(paid.body).toMatchObject({
    status: 'CONCLUIDA',
    pix: [{ endToEndId: payment?.e2eid, txid, valor: '37.00' }],
  })

  const refund = `/pix/${payment?.e2eid}/devolucao/d1`
  expect((await send('PUT', refund, { valor: '37.00' })).status).toBe(201)
  await sendDueRefunds()
  await bank.run('settle')
  await makeOrdersDue()
  await sendDueRefunds()
  const { body: done } = await send('GET', refund)
  expect(done).toMatchObject({ id: 'd1', status: 'DEVOLVIDO' })
  const { payments } = await bank.run('readRecords')
  const atBank = payments.find(({ e2eid }) => e2eid === payment?.e2eid)
  expect(done.rtrId).toBe(atBank?.refunds[0]?.rtrId)

  const other = newTxid()
  await put(other)
  await send('PATCH', `/cob/${other}`, { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' })
  expect((await chargeAtBank(other))?.status).toBe('REMOVIDA_PELO_USUARIO_RECEBEDOR')
})

test('while the bank does not respond: 503 ServicoIndisponivel, and the same request creates it later', async () => {
  await bank.run('addFault', {
    method: 'PUT',
    path: '/v2/cob',
    kind: 'respond',
    status: 503,
    times: 3,
  })
  const txid = newTxid()
  const refused = await put(txid)
  expect([refused.status, refused.body.type, refused.headers.get('retry-after')]).toEqual([
    503,
    'https://pix.bcb.gov.br/api/v2/error/ServicoIndisponivel',
    expect.stringMatching(/^\d+$/),
  ])
  await bank.run('clearFaults')
  await expect.poll(async () => (await put(txid)).status).toBe(201)
})
