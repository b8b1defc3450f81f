import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { EfiAccount, signal } from '#e2e/banks/efi-account.ts'
import { db } from '#lib/base/db/client.ts'
import { HOUSE_ACCOUNT_ID } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { receivePayments } from '#lib/rooms/charges/receive.ts'
import { checkConnection } from '#lib/services/gateway/check-connection.ts'
import { listOpenItems } from '#lib/services/house/inbox.ts'
import { assessDisputes } from '#lib/services/ledger/owed.ts'
import { readDisputeLists } from '#lib/testing/bank-lists.ts'
import { assignConnection, openLiveCharge } from '#lib/testing/connection.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'

inOwnDatabase()

const AMOUNT = 5_000
let account: EfiAccount
let merchant: Account
beforeAll(async () => {
  account = await EfiAccount.open()
  await checkConnection(account.id, { type: 'system' })
})
afterAll(() => account.close())
beforeEach(async () => {
  merchant = await makeMerchant()
  await assignConnection(account.id, merchant)
})
afterEach(async () => {
  await account.bank.run('clearFaults')
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(HOUSE_ACCOUNT_ID)
})

/** Pays a charge of the merchant and contests it; returns the bank's ids. */
async function contest() {
  const { id: chargeId } = await openLiveCharge(merchant, AMOUNT)
  const txid = chargeId.replaceAll('-', '')
  const [receipt] = await account.bank.run('pay', { txid })
  const endToEndId = receipt?.e2eid ?? expect.unreachable()
  const payments = [{ endToEndId, amount: AMOUNT, paidAt: new Date(), txid }]
  await receivePayments([{ accountId: merchant.id, chargeId, payments }])
  return { endToEndId, bankId: await account.bank.run('openDispute', { e2eid: endToEndId }) }
}

async function readBooks() {
  const rows = await db().ledgerAccount.findMany({
    where: { accountId: merchant.id, mode: 'live' },
  })
  return assessDisputes(Object.fromEntries(rows.map(({ ledger, balance }) => [ledger, balance])))
}

const readDispute = (bankId: string) =>
  db().dispute.findFirst({ where: { connectionId: account.id, bankId } })

test.each([
  [false, 'won', AMOUNT],
  [true, 'lost', 0],
] as const)(
  'a contested payment is held, and then (accepted: %s) %s',
  async (isAccepted, status, available) => {
    const { bankId } = await contest()
    await readDisputeLists()
    await readDisputeLists()
    expect(await readBooks()).toMatchObject({ available: 0, disputed: AMOUNT, held: AMOUNT })
    expect(await readDispute(bankId)).toMatchObject({ status: 'open', respondBy: expect.any(Date) })
    await account.bank.run('closeDispute', { id: bankId, isAccepted })
    await readDisputeLists()
    await readDisputeLists()
    expect(await readDispute(bankId)).toMatchObject({ status })
    expect(await readBooks()).toMatchObject({ available, disputed: 0, claim: 0 })
  },
)

test('a dispute that was defended, or has a status that this version does not know, stays held', async () => {
  const { bankId, endToEndId } = await contest()
  const body = { analise: 'rejeitado', justificativa: 'Entregue' }
  await account.client.call('POST', `/v2/gn/infracoes/${bankId}/defesa`, body)
  await readDisputeLists()
  expect(await readBooks()).toMatchObject({ available: 0, held: AMOUNT })
  const dispute = { idInfracao: bankId, endToEndId, valor: 50, status: 'EM_RECURSO' }
  const infracoes = JSON.stringify({ infracoes: [dispute] })
  await account.fail({ kind: 'respond', path: '/v2/gn/infracoes', status: 200, body: infracoes })
  await readDisputeLists()
  expect(await readDispute(bankId)).toMatchObject({ status: 'open' })
})

test('a dispute that Efí cancels is won; one of no charge goes to the inbox, and stops no other', async () => {
  const { bankId, endToEndId } = await contest()
  await readDisputeLists()
  const dispute = { idInfracao: bankId, endToEndId, valor: '50.00', status: 'CANCELADA_EFI' }
  const stray = { ...dispute, idInfracao: `stray-${bankId}`, endToEndId: 'E0', status: 'ABERTA' }
  const infracoes = JSON.stringify({ infracoes: [stray, { ...stray, valor: 'x' }, dispute] })
  await account.fail({ kind: 'respond', path: '/v2/gn/infracoes', status: 200, body: infracoes })
  await readDisputeLists()
  expect(await readDispute(bankId)).toMatchObject({ status: 'won' })
  const items = (await listOpenItems()).filter(({ facts }) => facts.end_to_end_id === 'E0')
  expect(items).toMatchObject([{ kind: 'dispute_unmatched' }])
})

test('a list that cannot be read changes nothing, and is read again', async () => {
  const { bankId } = await contest()
  await account.fail({ kind: 'respond', path: '/v2/gn/infracoes', times: 1_000 })
  await readDisputeLists()
  expect(await readDispute(bankId)).toBeNull()
  await account.bank.run('clearFaults')
  await readDisputeLists()
  expect(await readDispute(bankId)).toMatchObject({ status: 'open' })
})

test('a dispute that has been open for long is still found', async () => {
  const { bankId } = await contest()
  await readDisputeLists()
  const inHalfAYear = new Date(Date.now() + 180 * 86_400_000)
  const after = (await account.bank.run('readTraffic', {})).length
  await readDisputeLists(inHalfAYear)
  const asked = (await account.bank.run('readTraffic', { after })).map(({ target }) => target)
  const [first = ''] = asked.filter(target => target.startsWith('/v2/gn/infracoes'))
  const since = new URL(first, account.bank.url).searchParams.get('inicio') ?? ''
  const { createdAt } = (await readDispute(bankId)) ?? expect.unreachable()
  expect(new Date(since).getTime()).toBeLessThan(createdAt.getTime())
})

test('settings of the account that let in payments of no charge are named, and corrected on demand', async () => {
  const { gateway, bank, client } = account
  const [key = ''] = bank.keys
  const other = { recebimento: { txidObrigatorio: false, qrCodeEstatico: { recusarTodos: false } } }
  const webhook = { notificar: { pixSemTxid: true } }
  const own = { recebimento: { ...other.recebimento, webhook } }
  const chaves = { [key]: own, 'other@example.com': other }
  await client.call('PUT', '/v2/gn/config', { pix: { receberSemChave: true, chaves } })
  const check = (corrects: boolean) => gateway.checkSettings?.(corrects, signal())
  const names = ['receberSemChave', 'txidObrigatorio', 'qrCodeEstatico.recusarTodos']
  const wrong = names.map(name => expect.stringMatching(RegExp(`^${name}( \\(.*\\*.*\\))?$`)))
  expect(await check(false)).toEqual({ outcome: 'ok', value: wrong })
  expect(await check(true)).toEqual({ outcome: 'ok', value: wrong })
  expect(await check(true)).toEqual({ outcome: 'ok', value: [] })
  const recebimento = { txidObrigatorio: true, qrCodeEstatico: { recusarTodos: true }, webhook }
  expect((await client.call('GET', '/v2/gn/config')).body).toEqual({
    pix: { receberSemChave: false, chaves: { ...chaves, [key]: { recebimento } } },
  })
})

test.each<[string, string, string]>([
  ['GET', '{}', 'unknown'],
  ['GET', '<html>', 'unknown'],
])('settings that are not readable are never changed: %s %s', async (method, body, outcome) => {
  const path = '/v2/gn/config'
  await account.fail({ kind: 'respond', method, path, status: 200, body })
  expect(await account.gateway.checkSettings?.(true, signal())).toMatchObject({ outcome })
})
