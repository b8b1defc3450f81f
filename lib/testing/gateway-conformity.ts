import { beforeEach, describe, expect, test } from 'vitest'
import type {
  ChargeState,
  ChargeTerms,
  Gateway,
  GatewayResult,
  Listing,
  OrderState,
  PayoutOrder,
  ReceivedPayment,
} from '#lib/banks/gateway.ts'
import { REJECTIONS } from '#lib/banks/gateway.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'

/** What a test makes happen at the bank behind an adapter. */
export interface BankWorld {
  /** The charge receives a payment. */
  pay: (txid: string, amount: number) => Promise<void>
  /** Payouts and refunds in progress end: the money has moved. */
  settle: () => Promise<void>
  /** The bank refuses the next payout that is sent, at once or later. */
  refusePayout: (id: string) => Promise<void>
  /** From now on the bank does not respond. For adapters that call over a network. */
  hang?: () => void
  /** A payment without a charge arrives; returns its end-to-end id. For adapters with lists. */
  receive?: (amount: number, paidAt: Date) => Promise<string>
  /** The account pays by itself; returns the end-to-end id. For adapters with lists. */
  payOut?: (amount: number, sentAt: Date) => Promise<string>
}

export interface Bank {
  gateway: Gateway
  world: BankWorld
  /** Key to which the bank pays, and the document of its owner; null at a bank without payouts. */
  payee: { dictKey: string; ownerDoc: string } | null
}

const signal = () => AbortSignal.timeout(10_000)
const END_TO_END_ID = /^[A-Za-z0-9]{32}$/

function expectOk<Value>(result: GatewayResult<Value>): Value {
  expect(result).toMatchObject({ outcome: 'ok' })
  return (result as { value: Value }).value
}

function newCharge(amount = 1_500): ChargeTerms {
  return {
    txid: removeHyphens(newId()),
    amount,
    expiresInSeconds: 3_600,
    merchantName: 'Padaria',
    merchantCity: 'Recife',
    payerName: 'Ana',
    payerEmail: 'ana@example.com',
    payerDoc: '52998224725',
  }
}

/** Tests what Troco relies on in every adapter. `open` returns a new bank for each test. */
export function testConformity(
  name: string,
  open: () => Promise<Bank>,
  { hasPayouts = true } = {},
): void {
  describe(`${name} conforms to the port:`, () => {
    let bank: Bank
    beforeEach(async () => {
      bank = await open()
    })
    testCharges(() => bank)
    if (hasPayouts) testPayouts(() => bank)
    else testNoPayouts(() => bank)
    testRefunds(() => bank)
    testLists(() => bank)
    testSignals(() => bank)
  })
}

function testCharges(bank: () => Bank): void {
  const create = async (order = newCharge()) =>
    [order, expectOk(await bank().gateway.createCharge(order, signal()))] as const
  const stateOf = async (txid: string) => {
    const { states, unanswered } = expectOk(await bank().gateway.getCharges([txid], signal()))
    expect(unanswered).toEqual([])
    return states.get(txid)
  }

  test('the same order has the same code, also after it was paid', async () => {
    const [order, { brCode }] = await create()
    expect((await create(order))[1].brCode).toBe(brCode)
    await bank().world.pay(order.txid, order.amount)
    const again = await bank().gateway.createCharge(order, signal())
    if (again.outcome === 'ok') expect(again.value.brCode).toBe(brCode)
    expect(await stateOf(order.txid)).toMatchObject({ state: 'paid' })
  })

  test('a charge is reported as paid with the amount that was paid', async () => {
    const [{ txid }] = await create()
    await bank().world.pay(txid, 1_499)
    const endToEndId = expect.stringMatching(END_TO_END_ID)
    const payment = { endToEndId, amount: 1_499, paidAt: expect.any(Date), txid }
    expect(await stateOf(txid)).toMatchObject({ state: 'paid', payments: [payment] })
  })

  test('each charge of a question has a state, is unknown or is left for another call', async () => {
    const [[open], [paid]] = [await create(), await create()]
    await bank().world.pay(paid.txid, paid.amount)
    const txids = [open.txid, paid.txid, removeHyphens(newId())]
    const { states, unanswered } = expectOk(await bank().gateway.getCharges(txids, signal()))
    expect(txids).toEqual(expect.arrayContaining([...states.keys(), ...unanswered]))
    expect(unanswered.filter(txid => states.has(txid))).toEqual([])
    expect([undefined, 'open']).toContain(states.get(open.txid)?.state)
    if (!unanswered.includes(paid.txid)) expect(states.get(paid.txid)?.state).toBe('paid')
  })

  test('a removed charge is open no more; one that was paid is reported as paid', async () => {
    const [[open], [paid]] = [await create(), await create()]
    await bank().world.pay(paid.txid, paid.amount)
    const removed = expectOk(await bank().gateway.cancelCharge(open.txid, signal()))
    expect(['cancelled', 'expired']).toContain(removed?.state)
    const result = await bank().gateway.cancelCharge(paid.txid, signal())
    if (result.outcome === 'ok') expect(result.value).toMatchObject({ state: 'paid' })
    else expect(result.outcome).toBe('rejected')
    expect(await stateOf(paid.txid)).toMatchObject({ state: 'paid' })
  })
}

const PAYEE = { dictKey: 'ana@example.com', ownerDoc: '52998224725' }

function newPayoutAt({ payee }: Bank, ownerDoc: string | null = null): PayoutOrder {
  const { dictKey } = payee ?? PAYEE
  return { id: removeHyphens(newId()), amount: 1_000, dictKey, ownerDoc }
}

function testNoPayouts(bank: () => Bank): void {
  test('a bank without payouts blocks each call about them', async () => {
    const { gateway } = bank()
    const payout = newPayoutAt(bank())
    const calls = [
      gateway.checkPayout(payout.dictKey),
      gateway.sendPayout(payout, signal()),
      gateway.getPayout(payout, signal()),
    ]
    for (const call of calls) expect(await call).toMatchObject({ outcome: 'blocked' })
  })
}

function testPayouts(bank: () => Bank): void {
  const newPayout = (ownerDoc: string | null = null) => newPayoutAt(bank(), ownerDoc)
  const ownerDocOf = () => bank().payee?.ownerDoc ?? expect.unreachable('the bank has no payouts')
  const stateOf = async (payout: PayoutOrder) =>
    expectOk(await bank().gateway.getPayout(payout, signal()))

  test('a payout that was never sent is unknown', async () => {
    expect(await stateOf(newPayout())).toBeNull()
  })

  test('a payout sent twice under its id is one payout', async () => {
    const payout = newPayout()
    expectOk(await bank().gateway.sendPayout(payout, signal()))
    const again = await bank().gateway.sendPayout(payout, signal())
    expect(['ok', 'rejected']).toContain(again.outcome)
    await bank().world.settle()
    const first = await stateOf(payout)
    expect(first).toMatchObject({ state: 'done', endToEndId: expect.stringMatching(END_TO_END_ID) })
    await bank().gateway.sendPayout(payout, signal())
    expect(await stateOf(payout)).toEqual(first)
  })

  test('a payout that names the owner of the key is paid', async () => {
    const payout = newPayout(ownerDocOf())
    expectOk(await bank().gateway.sendPayout(payout, signal()))
    await bank().world.settle()
    expect(await stateOf(payout)).toMatchObject({ state: 'done' })
  })

  test('a payout that names another owner is refused for this reason', async () => {
    const payout = newPayout('11144477735')
    const sent = await bank().gateway.sendPayout(payout, signal())
    await bank().world.settle()
    const refusal = sent.outcome === 'rejected' ? sent : await stateOf(payout)
    expect(refusal).toMatchObject({ code: 'owner_differs', params: {} })
    const { bankText } = refusal as Extract<OrderState, { state: 'refused' }>
    expect(bankText ?? '').not.toContain(ownerDocOf())
  })

  test('an end-to-end id that is known early is that of the payment', async () => {
    const payout = newPayout()
    const taken = expectOk(await bank().gateway.sendPayout(payout, signal()))
    await bank().world.settle()
    const done = await stateOf(payout)
    if (taken.state !== 'taken' || taken.endToEndId === undefined) return
    expect(done).toMatchObject({ endToEndId: taken.endToEndId })
  })

  test('a refused payout has a reason for merchants and a text for staff', async () => {
    const payout = newPayout()
    await bank().world.refusePayout(payout.id)
    const sent = await bank().gateway.sendPayout(payout, signal())
    await bank().world.settle()
    const refusal = sent.outcome === 'rejected' ? sent : await stateOf(payout)
    expect(refusal).toMatchObject({ code: expect.any(String), params: {} })
    const { code, bankText } = refusal as Extract<OrderState, { state: 'refused' }>
    expect(Object.keys(REJECTIONS).filter(known => known !== 'other')).toContain(code)
    expect(bankText === null || typeof bankText === 'string').toBe(true)
  })
}

function testRefunds(bank: () => Bank): void {
  test('a refund is found by its payment and id, and sent once', async () => {
    const { gateway, world } = bank()
    const charge = newCharge()
    await gateway.createCharge(charge, signal())
    await world.pay(charge.txid, charge.amount)
    const { states } = expectOk(await gateway.getCharges([charge.txid], signal()))
    const { payments } = states.get(charge.txid) as Extract<ChargeState, { state: 'paid' }>
    const { endToEndId } = payments[0] as ReceivedPayment
    const refund = { id: removeHyphens(newId()), endToEndId, amount: 500 }
    expect(expectOk(await gateway.getRefund(refund, signal()))).toBeNull()
    expectOk(await gateway.refundCharge(refund, signal()))
    await gateway.refundCharge(refund, signal())
    await world.settle()
    expect(expectOk(await gateway.getRefund(refund, signal()))).toMatchObject({ state: 'done' })
  })
}

const SINCE = new Date(Date.now() - 3_600_000)
const after = (minutes: number) => new Date(SINCE.getTime() + minutes * 60_000)

/** Reads a list to its end; `between` runs after the first page. */
async function readAll<Item extends { endToEndId: string }>(
  read: (cursor: string | null) => Promise<GatewayResult<Listing<Item>>>,
  between = async () => {},
): Promise<string[]> {
  const found: string[] = []
  for (let cursor: string | null = null; ; ) {
    const page: Listing<Item> = expectOk(await read(cursor))
    found.push(...page.items.map(({ endToEndId }) => endToEndId))
    if (page.nextCursor === null) return found
    if (cursor === null) await between()
    cursor = page.nextCursor
  }
}

async function expectFoundById(gateway: Gateway, endToEndId: string): Promise<void> {
  const find = async (id: string) =>
    expectOk((await gateway.getPayment?.(id, signal())) ?? expect.unreachable())
  expect(await find(endToEndId)).toMatchObject({ endToEndId, amount: 100 })
  expect(await find(`E${'x'.repeat(31)}`)).toBeNull()
}

function testLists(bank: () => Bank): void {
  test('a list has everything since its time, also while more arrives', async () => {
    const { gateway, world } = bank()
    const [receive, send] = [world.receive, world.payOut]
    for (const [list, happen] of [
      [gateway.listPayments?.bind(gateway), receive],
      [gateway.listSentPayouts?.bind(gateway), send],
    ] as const) {
      expect(list === undefined).toBe(happen === undefined)
      if (!list || !happen) continue
      const early = await happen(100, after(-1))
      const ids = [await happen(200, SINCE)]
      for (let minutes = 1; minutes <= 6; minutes++) ids.push(await happen(300, after(minutes)))
      const read = (cursor: string | null) =>
        list(SINCE, cursor, signal()) as Promise<GatewayResult<Listing<{ endToEndId: string }>>>
      const found = await readAll(read, async () => void (await happen(400, after(7))))
      expect(found).toEqual(expect.arrayContaining(ids))
      expect(found).not.toContain(early)
      if (happen === receive) await expectFoundById(gateway, early)
    }
  })
}

function testSignals(bank: () => Bank): void {
  test('every call ends when its signal is aborted', async () => {
    const { gateway, world } = bank()
    expect(world.hang === undefined).toBe(gateway.local !== undefined)
    if (!world.hang) return
    world.hang()
    const aborter = new AbortController()
    const { signal } = aborter
    const id = removeHyphens(newId())
    const refund = { id, endToEndId: newId(), amount: 500 }
    const calls = [
      gateway.createCharge(newCharge(), signal),
      gateway.getCharges([id], signal),
      gateway.cancelCharge(id, signal),
      bank().payee ? gateway.sendPayout(newPayoutAt(bank()), signal) : undefined,
      bank().payee ? gateway.getPayout(newPayoutAt(bank()), signal) : undefined,
      gateway.refundCharge(refund, signal),
      gateway.getRefund(refund, signal),
      gateway.checkHealth(signal),
      gateway.getBalance?.(signal),
      gateway.registerWebhook?.('https://troco.example/hooks', signal),
      gateway.listPayments?.(SINCE, null, signal),
      gateway.listSentPayouts?.(SINCE, null, signal),
    ]
    const settled = Promise.allSettled(calls)
    aborter.abort()
    for (const [index, call] of (await settled).entries()) {
      if (!calls[index] || call.status === 'rejected') continue
      expect(call.value?.outcome).toMatch(/^(unknown|retryable)$/)
    }
  })
}
