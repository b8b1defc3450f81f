import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EfiAccount, signal } from '#e2e/banks/efi-account.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { checkConnection } from '#lib/banks/connections.ts'
import { answerDispute } from '#lib/charges/disputes/read-list.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { listOpenItems } from '#lib/differences/differences.ts'
import { assessDisputes } from '#lib/ledger/owed.ts'
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
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

/** Pays a charge of the merchant and contests it; returns the bank's ids. */
async function contest() {
  const { id: chargeId } = await openLiveCharge(merchant, AMOUNT)
  const txid = chargeId.replaceAll('-', '')
  const [payment] = await account.bank.run('pay', { txid })
  const endToEndId = payment?.e2eid ?? expect.unreachable()
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

describe('a defense', () => {
  const DEFENSE = '/v2/gn/infracoes/'
  let bankId: string
  let by: string
  const answer = (text = 'Entregue em 20/11') => {
    const { id = '' } = dispute ?? {}
    return answerDispute({ accountId: merchant.id, id, text, by })
  }
  const readState = async () => (await readDispute(bankId))?.answerState
  const countSent = async () =>
    (await account.bank.run('readTraffic', {})).filter(({ target }) => target === sentTo()).length
  const sentTo = () => `${DEFENSE}${bankId}/defesa`
  let dispute: Awaited<ReturnType<typeof readDispute>>

  beforeEach(async () => {
    by = newId()
    bankId = (await contest()).bankId
    await readDisputeLists()
    dispute = await readDispute(bankId)
  })

  test('is stored, sent once, and then taken', async () => {
    await answer()
    expect(await readDispute(bankId)).toMatchObject({
      status: 'open',
      answer: 'Entregue em 20/11',
      answerState: 'taken',
      answeredBy: by,
    })
    await expect(answer('Outra')).rejects.toMatchObject({ code: 'dispute_refused' })
    expect(await countSent()).toBe(1)
    const audited = await db().auditRecord.findMany({ where: { target: dispute?.id ?? '' } })
    expect(audited).toMatchObject([{ action: 'dispute.answered', actorId: by }])
    const [call] = await db().gatewayCall.findMany({ where: { subjectId: dispute?.id ?? '' } })
    expect(call).toMatchObject({ operation: 'answerDispute', outcome: 'ok' })
    expect(JSON.stringify(call)).not.toContain('Entregue')
  })

  test('sent twice at the same time reaches the bank once', async () => {
    const results = await Promise.allSettled([answer('A'), answer('B')])
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(await countSent()).toBe(1)
  })

  test.each([true, false])(
    'without a response is never sent again while it may arrive (arrived: %s)',
    async hasActed => {
      await account.fail({ kind: 'reset', method: 'POST', path: DEFENSE, hasActed })
      await answer()
      expect(await readState()).toBe('pending')
      await expect(answer()).rejects.toMatchObject({ code: 'dispute_refused' })
      await readDisputeLists()
      expect(await readState()).toBe(hasActed ? 'taken' : 'pending')
      if (hasActed) return
      const answeredAt = new Date(Date.now() - 11 * 60_000)
      await db().dispute.updateMany({ where: { bankId }, data: { answeredAt } })
      await readDisputeLists()
      expect(await readState()).toBe('unsent')
      await answer()
      expect(await readState()).toBe('taken')
    },
  )

  test('that the bank says to have already is taken only if its list agrees', async () => {
    const body = JSON.stringify({ nome: 'RequisicaoInvalida', mensagem: 'já defendida' })
    await account.fail({ kind: 'respond', method: 'POST', path: DEFENSE, status: 409, body })
    await answer()
    await readDisputeLists()
    expect(await readState()).toBe('pending')
  })

  test('made elsewhere counts, and is not sent again', async () => {
    await account.client.call('POST', sentTo(), { analise: 'rejeitado', justificativa: 'App' })
    await answer()
    expect(await readState()).toBe('pending')
    await readDisputeLists()
    expect(await readState()).toBe('taken')
  })

  test('that comes too late is marked so, and one of a closed dispute is not sent', async () => {
    await account.bank.run('closeDispute', { id: bankId, isAccepted: false })
    await answer()
    expect(await readState()).toBe('late')
    await readDisputeLists()
    await expect(answer()).rejects.toMatchObject({ code: 'dispute_refused' })
    expect(await readDispute(bankId)).toMatchObject({ status: 'won', answerState: 'late' })
  })

  test.each<[number, string, string]>([
    [400, 'json_invalido', 'refused'],
    [403, 'insufficient_scope', 'unsent'],
    [429, 'limite_requisicoes', 'unsent'],
    [500, 'erro_interno', 'pending'],
  ])('that the bank answers with %i is %s: %s', async (status, nome, state) => {
    const body = JSON.stringify({ nome, mensagem: 'x' })
    await account.fail({ kind: 'respond', method: 'POST', path: DEFENSE, status, body })
    await answer()
    expect(await readState()).toBe(state)
  })

  test('of a dispute of another account is not found', async () => {
    const { id: accountId } = await makeMerchant()
    const { id = '' } = dispute ?? {}
    const refused = { code: 'not_found' }
    await expect(answerDispute({ accountId, id, text: 'x', by })).rejects.toMatchObject(refused)
    await expect(answerDispute({ accountId, id: 'x', text: 'x', by })).rejects.toMatchObject(
      refused,
    )
  })
})

test('a dispute that Efí cancels is won; one of no charge goes to the differences, and stops no other', async () => {
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
