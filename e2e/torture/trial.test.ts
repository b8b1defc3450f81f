import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EfiAccount } from '#e2e/banks/efi-account.ts'
import { openAt } from '#e2e/banks/open.ts'
import {
  ALL_DONE,
  isEnded,
  isPaid,
  KEY,
  readRest,
  stateOf,
  TrialStage,
  txidOf,
} from '#e2e/banks/trial-stage.ts'
import { closeConnection } from '#lib/accounts/connections.ts'
import { breaker } from '#lib/banks/breaker.ts'
import { registerNoticeAddress } from '#lib/banks/notices.ts'
import { createPaymentReader } from '#lib/charges/read-payments.ts'
import { matchPayments } from '#lib/charges/receive.ts'
import { newId, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { listAccountLines, readAccount } from '#lib/operator/accounts.ts'
import { countOpenWork } from '#lib/operator/banks/list.ts'
import { giveBack } from '#lib/operator/differences/differences.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import { startApiProcess } from '#lib/testing/api-process.ts'
import { assignConnection, endSlots } from '#lib/testing/connection.ts'
import { operatorBalances } from '#lib/testing/differences.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { makeOrdersDue, sendDueReturns } from '#lib/testing/orders.ts'
import { pickInTurn } from '#lib/testing/turn.ts'
import { continueTrials, findLatestTrial } from '#lib/trials/trial.ts'
import { askAboutNotices } from '#lib/worker/worker.ts'

inOwnDatabase()

const ACTOR = { type: 'command_line' } as const

let stage: TrialStage
beforeAll(async () => {
  stage = await TrialStage.open()
})
afterAll(async () => {
  await stage.account.close()
  await expectBalancedLedger(TRIAL_ACCOUNT_ID)
})
beforeEach(() => stage.connect())

/** Reads the bank's list of payments, as the worker does for the books. */
async function readList(): Promise<void> {
  await db().$executeRaw`UPDATE payment_readings SET due_at = now() - interval '1 second'`
  const reader = createPaymentReader()
  await reader.run()
  await reader.idle()
}

/** As if it had been paid so long ago. */
const age = (interval: string) =>
  db().$executeRaw`
    UPDATE charges SET paid_at = paid_at - ${interval}::interval
    WHERE account_id = ${TRIAL_ACCOUNT_ID}::uuid AND connection_id = ${stage.connectionId}::uuid`

/** Step, method and path of the request whose response is lost, and whether the bank has executed it. */
const LOST_RESPONSES = [
  ['charge', 'PUT', '/v2/cob/', true],
  ['charge', 'PUT', '/v2/cob/', false],
  ['payment', 'GET', '/v2/cob/', false],
  ['refund', 'PUT', '/v2/pix/', true],
  ['refund', 'PUT', '/v2/pix/', false],
  ['withdrawal', 'PUT', '/v3/gn/pix/', true],
  ['withdrawal', 'PUT', '/v3/gn/pix/', false],
] as const

describe('a trial', () => {
  test('is a charge that is paid, refunded in part, and withdrawn: nothing is left', async () => {
    const opened = await stage.open()
    expect(opened).toMatchObject({ status: 'running', mode: 'live', amount: 3 })
    expect(opened.key).toBe('a***@example.com')
    expect(stateOf(opened)).toMatchObject({
      charge: 'done',
      payment: 'waiting',
      notice: 'upcoming',
    })
    const e2eid = await stage.pay(opened)
    await stage.announce(e2eid)
    await stage.workUntil(isPaid)
    const ended = await stage.workUntil(isEnded)
    expect(stateOf(ended)).toEqual(ALL_DONE)
    expect(ended.status).toBe('passed')
    const [refund] = await stage.refundsOf(e2eid)
    const [payout] = await stage.payoutsTo(KEY)
    expect(refund).toMatchObject({ amount: 2, status: 'DEVOLVIDO' })
    expect(payout).toMatchObject({ amount: 1, status: 'REALIZADO' })
    expect(ended.steps.map(({ bank_id }) => bank_id)).toEqual([
      txidOf(opened),
      e2eid,
      null,
      refund?.rtrId,
      payout?.e2eid,
    ])
    expect(ended.steps.every(({ at }) => at !== null)).toBe(true)
    expect(await readRest()).toBe(0)
    expect(await stage.listOwn()).toEqual([
      ['payment', 3, 'booked'],
      ['payout', -1, 'booked'],
      ['refund', -2, 'booked'],
    ])
    expect(await stage.countItems(opened)).toBe(0)
  })

  test('is booked from the list of payments, too, and never credits a merchant', async () => {
    const merchant = await makeMerchant()
    await assignConnection(stage.connectionId, merchant)
    const opened = await stage.open({ pixKey: newId() })
    const e2eid = await stage.pay(opened)
    await readList()
    expect(stateOf(await stage.read())).toMatchObject({ payment: 'done', notice: 'waiting' })
    await stage.announce(e2eid)
    expect((await stage.workUntil(isEnded)).status).toBe('passed')
    await readList()
    expect(await stage.countItems(opened)).toBe(0)
    const { connectionId } = stage
    const ofOthers = { connectionId, accountId: { not: TRIAL_ACCOUNT_ID } }
    expect(await db().ledgerTransfer.count({ where: ofOthers })).toBe(0)
    expect(await db().ledgerTransfer.count({ where: { connectionId } })).toBe(3)
    await expectBalancedLedger(merchant.id)
  })

  test('is left to its own connection by another one to the same bank account', async () => {
    const keys = { receiving_keys: [], paying_key: stage.bank.keys[1] }
    const { id } = await openAt(stage.bank, { kind: 'efi', ...keys })
    const opened = await stage.open({ pixKey: newId() })
    const e2eid = await stage.pay(opened)
    const listed = { endToEndId: e2eid, amount: 3, paidAt: new Date(), txid: txidOf(opened) }
    expect(await matchPayments({ id, mode: 'live' }, [listed])).toEqual([listed])
    await stage.announce(e2eid)
    expect(stateOf(await stage.workUntil(isEnded))).toEqual(ALL_DONE)
    expect(await stage.countItems(opened)).toBe(0)
    await closeConnection(id, { type: 'command_line' })
  })

  test('of which no notice comes fails for that, after the money has moved', async () => {
    await stage.pay(await stage.open({ pixKey: newId() }))
    await stage.workUntil(isPaid)
    await age('11 minutes')
    const ended = await stage.workUntil(isEnded)
    expect(ended.status).toBe('failed')
    expect(stateOf(ended)).toEqual({ ...ALL_DONE, notice: 'failed not_noticed' })
  })

  test('that nobody pays in time fails, and goes on if the bank takes a late payment', async () => {
    const opened = await stage.open({ pixKey: newId() })
    await db().charge.updateMany({ where: { id: opened.id }, data: { expiresAt: new Date() } })
    const ended = await stage.workUntil(isEnded)
    expect(stateOf(ended)).toMatchObject({ payment: 'failed not_paid', refund: 'skipped' })
    await stage.work()
    const { charges } = await stage.bank.run('readRecords')
    expect(charges.at(-1)?.status).toBe('REMOVIDA_PELO_USUARIO_RECEBEDOR')
    const e2eid = await stage.pay(opened, { isForced: true })
    await readList()
    await stage.announce(e2eid)
    expect(stateOf(await stage.workUntil(isEnded))).toEqual(ALL_DONE)
    expect(await stage.countItems(opened)).toBe(0)
  })

  test('that is paid twice refunds the first payment, and the second waits among the differences', async () => {
    const unmatched = (await operatorBalances('live')).unmatched ?? 0
    const opened = await stage.open({ pixKey: newId() })
    const e2eid = await stage.pay(opened, { isForced: true, copies: 2 })
    await stage.announce(e2eid)
    expect((await stage.workUntil(isEnded)).status).toBe('passed')
    await readList()
    expect(await stage.countItems(opened)).toBe(1)
    expect(((await operatorBalances('live')).unmatched ?? 0) - unmatched).toBe(3)
    expect(await readRest()).toBe(0)
  })

  test('that is paid with another amount fails, and the money waits among the differences', async () => {
    const opened = await stage.open()
    await stage.pay(opened, { amount: 5, isForced: true })
    const ended = await stage.workUntil(isEnded)
    expect(stateOf(ended)).toMatchObject({ payment: 'failed other_amount', withdrawal: 'skipped' })
    expect(await stage.countItems(opened)).toBe(1)
  })

  test('whose refund the bank refuses fails, and the cents stay in the account', async () => {
    const before = await readRest()
    await stage.bank.run('change', { refundFailure: 'Conta encerrada' })
    const ended = await stage.run({ pixKey: newId() })
    expect(ended.status).toBe('failed')
    expect(stateOf(ended)).toEqual({ ...ALL_DONE, refund: 'failed' })
    expect(ended.steps.find(({ step }) => step === 'refund')?.text).toBe('Conta encerrada')
    expect((await readRest()) - before).toBe(2)
  })

  test.each(pickInTurn(LOST_RESPONSES))(
    'goes on after the response about the %s is lost: %s %s, acted: %s',
    async (...parts) => {
      const [, method, path, hasActed] = parts
      const key = newId()
      await stage.bank.run('addFault', { kind: 'reset', method, path, hasActed })
      const opened = await stage.open({ pixKey: key })
      const e2eid = await stage.pay(opened)
      await stage.announce(e2eid)
      await stage.workUntil(isPaid)
      for (let count = 0; count < 3; count++) await stage.work()
      // A payout that may still arrive keeps its slot for 30 s.
      await endSlots(stage.connectionId)
      const ended = await stage.workUntil(isEnded)
      expect(await stage.bank.run('countFaults')).toBe(0)
      expect(stateOf(ended)).toEqual(ALL_DONE)
      expect(await stage.refundsOf(e2eid)).toHaveLength(1)
      expect(await stage.payoutsTo(key)).toHaveLength(1)
    },
  )

  test('shows the key masked where the bank repeats it', async () => {
    const key = `${newId()}@example.com`
    await stage.bank.run('addFault', {
      kind: 'respond',
      method: 'PUT',
      path: '/v3/gn/pix/',
      status: 403,
      body: JSON.stringify({ nome: 'acesso_negado', mensagem: `Chave ${key} bloqueada` }),
    })
    const opened = await stage.open({ pixKey: key })
    await stage.announce(await stage.pay(opened))
    const { steps } = await stage.workUntil(found => found.steps[4]?.text !== null)
    expect(steps[4]?.text).toContain('bloqueada')
    expect(JSON.stringify(steps)).not.toContain(key)
    expect((await stage.workUntil(isEnded)).status).toBe('passed')
  })

  test('explains the balance of the bank while the bank has its orders', async () => {
    const restOf = async () => (await readConnectionBalance(stage.connectionId)).rest
    const rest = await restOf()
    const key = newId()
    await stage.announce(await stage.pay(await stage.open({ pixKey: key })))
    await stage.workUntil(isPaid)
    expect(await restOf()).toBe(rest)
    for (let count = 0; count < 3; count++) await stage.work()
    expect(await stage.payoutsTo(key)).toMatchObject([{ status: 'EM_PROCESSAMENTO' }])
    expect(stateOf(await stage.read())).toMatchObject({ refund: 'waiting', withdrawal: 'waiting' })
    expect(await restOf()).toBe(rest)
    expect((await stage.workUntil(isEnded)).status).toBe('passed')
  })

  test('whose refund Troco refuses says so, fails after an hour, and another one can begin', async () => {
    const opened = await stage.open({ pixKey: newId() })
    await stage.bank.run('takeBack', { e2eid: await stage.pay(opened), amount: opened.amount })
    await readList()
    for (let time = 0; time < 2; time++) await continueTrials()
    const readRefund = async () => (await stage.read()).steps[3]
    const refusal = 'refund_exceeds_remainder'
    expect(await readRefund()).toMatchObject({ step: 'refund', state: 'waiting', refusal })
    await age('2 hours')
    const ended = await stage.workUntil(isEnded)
    expect(ended.status).toBe('failed')
    expect(await readRefund()).toMatchObject({ state: 'failed', refusal })
    expect(await stage.begin({ pixKey: newId() })).not.toMatchObject({ id: opened.id })
  })

  test('of a connection that is closed meanwhile stays open work, and is served to its end', async () => {
    const opened = await stage.open({ pixKey: newId() })
    const { connectionId } = stage
    await closeConnection(connectionId, ACTOR)
    expect(await countOpenWork(connectionId)).toMatchObject({ charges: 1 })
    await stage.announce(await stage.pay(opened))
    expect(stateOf(await stage.workUntil(isEnded))).toEqual(ALL_DONE)
    expect(await countOpenWork(connectionId)).toMatchObject({
      charges: 0,
      withdrawals: 0,
      refunds: 0,
    })
    await expect(stage.begin()).rejects.toMatchObject({ code: 'already_final' })
  })

  test('that the bank refuses a code ends at once, and says why', async () => {
    await stage.bank.run('addFault', {
      kind: 'respond',
      method: 'PUT',
      path: '/v2/cob/',
      status: 403,
      body: JSON.stringify({ nome: 'acesso_negado', mensagem: 'Sem permissão' }),
    })
    const begun = await stage.begin()
    expect(begun.status).toBe('failed')
    expect(stateOf(begun)).toMatchObject({ charge: 'failed', payment: 'skipped' })
    expect(begun.steps[0]?.text).toContain('acesso_negado')
  })

  test('begins nothing while the connection rests', async () => {
    const call = {
      connectionId: stage.connectionId,
      operation: 'getCharges',
      probe: null,
      isRepeated: false,
    }
    await breaker.admit(stage.connectionId)
    for (let count = 0; count < 5; count++)
      await breaker.record(call, { outcome: 'unknown', reason: '-' })
    await expect(stage.begin()).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(await findLatestTrial(stage.connectionId)).toBeNull()
  })
})

describe('a repeated trial', () => {
  test('withdraws again, also after the bank rejected the first withdrawal', async () => {
    const key = newId()
    const failure = { codigo: 'AC07', motivo: 'Conta encerrada' }
    await stage.bank.run('change', { payees: { [key]: { failure } } })
    const before = await readRest()
    const rejected = await stage.run({ pixKey: key })
    expect(stateOf(rejected)).toEqual({ ...ALL_DONE, withdrawal: 'failed' })
    expect((await readRest()) - before).toBe(1)
    await stage.bank.run('change', { payees: { [key]: {} } })
    const passed = await stage.run({ pixKey: key })
    expect(stateOf(passed)).toEqual(ALL_DONE)
    expect(passed.id).not.toBe(rejected.id)
    expect((await readRest()) - before).toBe(1)
  })

  test('is the one that is running, of all who begin at once', async () => {
    const { charges } = await stage.bank.run('readRecords')
    const begun = await Promise.all([1, 2, 3, 4].map(() => stage.begin()))
    expect(new Set(begun.map(({ id }) => id)).size).toBe(1)
    expect((await stage.bank.run('readRecords')).charges).toHaveLength(charges.length + 1)
    await expect(stage.begin({ pixKey: newId() })).rejects.toMatchObject({ code: 'under_way' })
  })

  test('refunds and withdraws once, however many workers go on with it', async () => {
    const key = newId()
    const opened = await stage.open({ pixKey: key })
    const e2eid = await stage.pay(opened)
    await readList()
    await Promise.all([1, 2, 3, 4].map(() => continueTrials()))
    await stage.announce(e2eid)
    expect((await stage.workUntil(isEnded)).status).toBe('passed')
    expect(await stage.refundsOf(e2eid)).toHaveLength(1)
    expect(await stage.payoutsTo(key)).toHaveLength(1)
  })
})

test('in homologation, the cents come and go in the books of test mode', async () => {
  await stage.connect({ environment: 'homologation' })
  const live = await readRest()
  const ended = await stage.run({ pixKey: newId() })
  expect(ended).toMatchObject({ status: 'passed', mode: 'test', amount: 3 })
  expect(await readRest('test')).toBe(0)
  expect(await readRest()).toBe(live)
})

test('in homologation, what is paid with another amount can be given back from the differences', async () => {
  await stage.connect({ environment: 'homologation' })
  const opened = await stage.open({ pixKey: newId() })
  const e2eid = await stage.pay(opened, { amount: 5, isForced: true })
  await stage.workUntil(isEnded)
  const { id: itemId } = await db().difference.findFirstOrThrow({ where: { key: e2eid } })
  await giveBack({ itemId, reason: 'A trial', actor: { type: 'command_line' } })
  for (let count = 0; count < 2; count++) {
    await makeOrdersDue()
    await sendDueReturns()
    await stage.bank.run('settle')
  }
  expect(await stage.refundsOf(e2eid)).toMatchObject([{ amount: 5, status: 'DEVOLVIDO' }])
  const item = await db().difference.findUniqueOrThrow({ where: { id: itemId } })
  expect(item.resolution).toBe('give_back')
})

test('staff sees the account of the trials among the accounts, without an owner', async () => {
  await stage.run({ pixKey: newId() })
  const { rows } = await listAccountLines({ q: TRIAL_ACCOUNT_ID })
  expect(rows).toMatchObject([{ id: TRIAL_ACCOUNT_ID, name: 'Teste de conexões' }])
  expect(await readAccount(TRIAL_ACCOUNT_ID)).toMatchObject({ id: TRIAL_ACCOUNT_ID })
})

test('a connection without payouts is tried without a key', async () => {
  await stage.connect({ paying_key: undefined })
  const ended = await stage.run({ pixKey: null })
  expect(ended.status).toBe('passed')
  expect(stateOf(ended)).toEqual({ ...ALL_DONE, withdrawal: 'skipped no_payouts' })
})

test.each([[null], [''], ['no key']])('%j is no key for a payout', async pixKey => {
  await expect(stage.begin({ pixKey })).rejects.toMatchObject({ code: 'invalid_input' })
})

test('a connection by API Pix receives and gives back, and pays nothing out', async () => {
  const receiving = { kind: 'api_pix', paying_key: undefined } as const
  const account = await EfiAccount.open({ kind: 'api-pix' }, receiving)
  const apiPix = new TrialStage(account)
  await apiPix.connect(receiving)
  const before = await readRest()
  const opened = await apiPix.open({ pixKey: null })
  const e2eid = await apiPix.pay(opened)
  await apiPix.announce(e2eid)
  const ended = await apiPix.workUntil(isEnded)
  expect(ended.status).toBe('passed')
  expect(stateOf(ended)).toEqual({ ...ALL_DONE, withdrawal: 'skipped no_payouts' })
  expect(await apiPix.refundsOf(e2eid)).toMatchObject([{ amount: 2, status: 'DEVOLVIDO' }])
  expect(await readRest()).toBe(before)
  await account.close()
})

test('the notice that the bank posts to the address of the connection is seen', async () => {
  const { DATABASE_URL = '', TROCO_SECRET = '', PUBLIC_URL } = env()
  const api = await startApiProcess({ DATABASE_URL, TROCO_SECRET })
  const account = await EfiAccount.open({ troco: api.url })
  supplyEnv({ PUBLIC_URL: `https://localhost:${account.bank.trocoPort}` })
  const behindFront = new TrialStage(account)
  await behindFront.connect()
  const replacing = { replacesForeign: true }
  const registered = await registerNoticeAddress(behindFront.connectionId, ACTOR, replacing)
  supplyEnv({ PUBLIC_URL })
  expect(registered).toMatchObject({ outcome: 'ok' })
  const e2eid = await behindFront.pay(await behindFront.open({ pixKey: newId() }))
  await behindFront.workUntil(isPaid)
  await account.bank.run('waitForNotices')
  await askAboutNotices()
  expect(stateOf(await behindFront.read())).toMatchObject({ notice: 'done' })
  expect(stateOf(await behindFront.workUntil(isEnded))).toEqual(ALL_DONE)
  const elsewhere = account.receiver.notices.map(({ body }) => JSON.stringify(body))
  expect(elsewhere.filter(text => text.includes(e2eid))).toEqual([])
  await account.close()
  await api.close()
})
