import { afterEach, describe, expect, test } from 'vitest'
import { EfiAccount, newPayout, PAYEE, PAYING_KEY, signal } from '#e2e/banks/efi-account.ts'
import { NO_HABITS } from '#e2e/psp/habits.ts'
import type { Settings } from '#e2e/psp/settings.ts'
import type { GatewayResult, Listing, SentPayout } from '#lib/banks/gateway.ts'
import type { NewConnection } from '#lib/banks/schema.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { testConformity } from '#lib/testing/gateway-conformity.ts'

const accounts: EfiAccount[] = []
afterEach(async () => {
  for (const account of accounts.splice(0)) await account.close()
})

async function openAccount(
  settings?: Partial<Settings>,
  connection?: Partial<NewConnection>,
): Promise<EfiAccount> {
  const account = await EfiAccount.open(settings, connection)
  accounts.push(account)
  return account
}

testConformity('an account at Efí', async () => {
  const account = await openAccount()
  const { bank, gateway } = account
  return {
    gateway,
    payee: PAYEE,
    world: {
      pay: async (txid, amount) => void (await bank.run('pay', { txid, amount, isForced: true })),
      settle: async () => void (await account.settle()),
      refusePayout: async () =>
        void (await account.setPayee({ failure: { codigo: 'AC07', motivo: 'Conta encerrada' } })),
      // Not awaited, and the bank may end before it has responded.
      hang: () => void bank.run('addFault', { kind: 'hang', times: 1_000 }).catch(() => {}),
      receive: async (amount, paidAt) => {
        const secondsAgo = (Date.now() - paidAt.getTime()) / 1_000
        const [payment] = await bank.run('pay', { key: bank.keys[0], amount, secondsAgo })
        return payment?.e2eid ?? expect.unreachable()
      },
      payOut: (amount, sentAt) => account.payAloneAt(sentAt, amount),
    },
  }
})

describe('a payout', () => {
  test('is asked for as Efí documents it, and no more', async () => {
    const account = await openAccount()
    const order = newPayout({ amount: 100_005, ownerDoc: PAYEE.ownerDoc })
    await account.send(order)
    const exchanges = await account.bank.run('readTraffic', {})
    const { target, requestBody } = exchanges.find(({ route }) => route?.startsWith('/v3')) ?? {}
    expect([target, JSON.parse(requestBody ?? '')]).toEqual([
      `/v3/gn/pix/${order.id}`,
      {
        valor: '1000.05',
        pagador: { chave: PAYING_KEY },
        favorecido: { chave: PAYEE.dictKey, cpf: PAYEE.ownerDoc },
      },
    ])
  })

  test('to the key of a company names its CNPJ, and the bank refuses any other', async () => {
    const account = await openAccount()
    await account.setPayee({ document: '12ABC34501DE35' })
    const owner = newPayout({ ownerDoc: '12ABC34501DE35' })
    expect(await account.send(owner)).toMatchObject({ value: { state: 'taken' } })
    const other = newPayout({ ownerDoc: '11222333000181' })
    expect(await account.send(other)).toMatchObject({ outcome: 'rejected', code: 'owner_differs' })
    expect(await account.readPaidOut()).toBe(owner.amount)
  })

  test.each(['e2eId', 'endToEndId'] as const)(
    'has an end-to-end id at once where the bank calls it %s',
    async payoutIdName => {
      const account = await openAccount()
      await account.bank.run('change', { quirks: { payoutIdName, hasNumbersAsText: true } })
      const endToEndId = expect.stringMatching(/^E\w{31}$/)
      expect(await account.send(newPayout())).toEqual({
        outcome: 'ok',
        value: { state: 'taken', endToEndId },
      })
    },
  )

  test('names its payee where the bank does', async () => {
    const account = await openAccount()
    const order = newPayout()
    await account.send(order)
    const taken = await account.find(order)
    expect(taken).not.toHaveProperty('value.payee')
    await account.bank.run('change', { quirks: { hasPayeeIdentity: true, hasNulls: true } })
    await account.settle()
    const payee = { name: PAYEE.name, maskedDoc: '***982247**', bank: null }
    expect(await account.find(order)).toMatchObject({ value: { state: 'done', payee } })
  })

  test.each([
    ['CPF', '52998224725'],
    ['CNPJ', '11222333000181'],
    ['phone', '+5511998765432'],
    ['e-mail', 'maria.souza@example.com'],
    ['random key', '7d9f0335-8dcc-4054-9bf9-0dbd61d36906'],
  ])(
    'to a %s that the bank shows masked is recognized, and one to another key is not',
    async (_, dictKey) => {
      const account = await openAccount({ habits: { ...NO_HABITS, masksKeys: true } })
      const order = newPayout({ dictKey })
      const sent = await account.send(order)
      expect(sent).toMatchObject({ value: { state: 'taken' } })
      expect(await account.find(order)).toMatchObject({ value: { state: 'taken' } })
      await account.settle()
      const endToEndId = (sent as { value: { endToEndId: string } }).value.endToEndId
      expect(await account.find({ ...order, endToEndId })).toMatchObject({
        value: { state: 'done', endToEndId },
      })
      for (const others of [
        { dictKey: PAYEE.dictKey },
        { amount: 1 },
        { endToEndId: newEndToEndId() },
      ])
        expect(await account.find({ ...order, ...others })).toMatchObject({ outcome: 'unknown' })
    },
  )

  test('that the payee returns, whole or in parts, stays done and has its returns', async () => {
    const account = await openAccount()
    const order = newPayout({ amount: 1_000 })
    await account.setPayee({ returns: [400] })
    await account.send(order)
    await account.settle()
    await account.bank.run('returnPayout', { idEnvio: order.id, amount: 600 })
    const returns = [400, 600].map(amount => ({
      id: expect.stringMatching(/^D\w{31}$/),
      amount,
      returnedAt: expect.any(Date),
    }))
    expect(await account.find(order)).toMatchObject({ value: { state: 'done', returns } })
    expect(await readSent(account, new Date(Date.now() - 60_000))).toMatchObject([
      { id: order.id, amount: 1_000, returns },
    ])
    expect(await account.readPaidOut()).toBe(0)
  })

  test('that the payee rejects later is refused, and its money is back', async () => {
    const account = await openAccount()
    await account.setPayee({ failure: { codigo: 'AC07', motivo: 'Conta encerrada' } })
    const order = newPayout()
    expect(await account.send(order)).toMatchObject({ value: { state: 'taken' } })
    await account.settle()
    expect(await account.find(order)).toMatchObject({ value: { state: 'refused' } })
    expect(await account.send(order)).toMatchObject({ value: { state: 'refused' } })
    expect(await account.readPaidOut()).toBe(0)
  })
})

async function readSent(account: EfiAccount, since: Date): Promise<SentPayout[]> {
  const found: SentPayout[] = []
  const list = account.gateway.listSentPayouts ?? expect.unreachable()
  for (let cursor: string | null = null; ; ) {
    const page: GatewayResult<Listing<SentPayout>> = await list(since, cursor, signal())
    if (page.outcome !== 'ok') return expect.unreachable(JSON.stringify(page))
    found.push(...page.value.items)
    if (page.value.nextCursor === null) return found
    cursor = page.value.nextCursor
  }
}

describe('the list of payouts', () => {
  const HOUR_MS = 3_600_000
  const since = new Date(Date.now() - 10 * HOUR_MS)

  test.each<[string, Partial<Settings>]>([
    ['pages', { listSize: 2 }],
    ['short periods', { listMs: HOUR_MS }],
    ['both, and no page but the first', { listSize: 2, listPages: 1, listMs: 5 * HOUR_MS }],
  ])('is whole where the bank splits it into %s', async (_, limits) => {
    const account = await openAccount(limits)
    const ids: string[] = []
    for (let hours = 1; hours <= 7; hours++)
      ids.push(await account.payAloneAt(new Date(since.getTime() + hours * HOUR_MS)))
    const found = await readSent(account, since)
    expect(new Set(found.map(({ endToEndId }) => endToEndId))).toEqual(new Set(ids))
  })

  test('is read again where it shifts between two pages', async () => {
    const account = await openAccount({ listSize: 2 })
    const ids: string[] = []
    for (let minutes = 1; minutes <= 6; minutes++)
      ids.push(await account.payAloneAt(new Date(since.getTime() + minutes * 60_000)))
    const path = '/v2/gn/pix/enviados'
    await account.fail({ kind: 'shift-pages', path, times: 2 })
    const found = await readSent(account, since)
    expect(new Set(found.map(({ endToEndId }) => endToEndId))).toEqual(new Set(ids))
  })

  test('has those that were done, whoever ordered them', async () => {
    const account = await openAccount()
    const [own, pending] = [newPayout(), newPayout()]
    await account.send(own)
    await account.payAlone('Folha1', 700)
    await account.settle()
    await account.send(pending)
    const found = await readSent(account, new Date(Date.now() - 60_000))
    const seen = found.map(({ id, amount }) => [id, amount])
    expect(seen.sort()).toEqual(
      [
        [null, 700],
        [own.id, own.amount],
      ].sort(),
    )
  })
})

describe('a connection', () => {
  test('that only pays out opens no charge; one that only receives pays nothing', async () => {
    const payer = await openAccount({}, { receiving_keys: [] })
    expect(await payer.gateway.checkHealth(signal())).toMatchObject({ outcome: 'ok' })
    expect(await payer.send(newPayout())).toMatchObject({ outcome: 'ok' })
    const charge = {
      txid: newPayout().id,
      amount: 500,
      expiresInSeconds: 60,
      merchantName: 'Loja',
      merchantCity: 'Recife',
      payerName: 'Ana',
      payerEmail: 'a@b.co',
      payerDoc: PAYEE.ownerDoc,
    }
    expect(await payer.gateway.createCharge(charge, signal())).toMatchObject({
      outcome: 'blocked',
      code: 'key',
    })
    const receiver = await openAccount({}, { paying_key: undefined })
    expect(await receiver.send(newPayout())).toMatchObject({ outcome: 'blocked' })
    expect(await receiver.readPaidOut()).toBe(0)
  })

  test.each(['pix.read', 'gn.balance.read', 'gn.pix.send.read'])(
    'without the scope %s does not pass its check',
    async scope => {
      const account = await openAccount()
      expect(await account.gateway.checkHealth(signal())).toMatchObject({ outcome: 'ok' })
      const { exchanges, scopes } = await readScopes(account)
      expect(exchanges).toBeGreaterThan(0)
      await account.bank.run('change', { scopes: scopes.filter(name => name !== scope) })
      expect(await account.gateway.checkHealth(signal())).toMatchObject({
        outcome: 'blocked',
        code: 'scope',
      })
    },
  )
})

async function readScopes({ bank }: EfiAccount) {
  const exchanges = await bank.run('readTraffic', {})
  const token = exchanges.find(({ target }) => target === '/oauth/token')
  const { scope } = JSON.parse(token?.responseBody ?? '{}')
  return { exchanges: exchanges.length, scopes: String(scope).split(' ') }
}

test('the balance is that of the bank, less what disputes block', async () => {
  const account = await openAccount({ openingBalance: 5_000 })
  const [payment] = await account.bank.run('pay', { key: account.bank.keys[0], amount: 2_000 })
  await account.bank.run('openDispute', { e2eid: payment?.e2eid ?? '' })
  const { balance } = await account.bank.run('readBook')
  expect(await account.gateway.getBalance?.(signal())).toEqual({
    outcome: 'ok',
    value: { available: balance - 2_000 },
  })
})
