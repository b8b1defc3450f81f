import { expect } from 'vitest'
import { openAt } from '#e2e/banks/open.ts'
import { Client } from '#e2e/psp/client.ts'
import type { Fault } from '#e2e/psp/faults.ts'
import { openReceiver, type Receiver } from '#e2e/psp/receiver.ts'
import type { Payee, Settings } from '#e2e/psp/settings.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import type { Gateway, PayoutOrder, SentOrder } from '#lib/banks/gateway.ts'
import type { NewConnection } from '#lib/banks/schema.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'

export const PAYEE = { dictKey: 'ana@example.com', ownerDoc: '52998224725', name: 'Ana Pereira' }
/** Key from which payouts are paid; the first key of the bank receives. */
export const PAYING_KEY = 'caixa@example.com'
const SEND_PATH = '/v3/gn/pix/'
export const OPENING_BALANCE = 10_000_000

/** An account at the test bank that may pay out, and the gateway of a connection to it. */
export class EfiAccount {
  readonly id: string
  readonly bank: RunningBank
  readonly gateway: Gateway
  readonly receiver: Receiver
  readonly client: Client

  private constructor(
    bank: RunningBank,
    { id, gateway }: { id: string; gateway: Gateway },
    receiver: Receiver,
  ) {
    this.id = id
    this.bank = bank
    this.gateway = gateway
    this.receiver = receiver
    this.client = new Client(bank)
  }

  /** Payouts and refunds end by the command `settle`. Notices arrive at a receiver that ignores them. */
  static async open(
    settings: Partial<Settings> = {},
    connection: Partial<NewConnection> = {},
  ): Promise<EfiAccount> {
    const keys = [newId(), PAYING_KEY]
    const bank = await startBank({
      kind: 'efi',
      openingBalance: OPENING_BALANCE,
      settleMs: null,
      keys,
      payees: { [PAYEE.dictKey]: { name: PAYEE.name, document: PAYEE.ownerDoc } },
      ...settings,
    })
    const opened = await openAt(bank, {
      kind: 'efi',
      receiving_keys: keys.slice(0, 1),
      paying_key: PAYING_KEY,
      ...connection,
    })
    const account = new EfiAccount(bank, opened, await openReceiver(bank))
    const registered = await account.gateway.registerWebhook?.(account.receiver.url, signal())
    expect(registered).toEqual({ outcome: 'ok', value: null })
    return account
  }

  async close(): Promise<void> {
    this.client.close()
    await this.receiver.close()
    await this.bank.stop()
  }

  /** Meets the next sending of a payout, unless the fault names another path. */
  fail(fault: Fault): Promise<unknown> {
    return this.bank.run('addFault', { path: SEND_PATH, ...fault })
  }

  setPayee(payee: Payee): Promise<unknown> {
    return this.bank.run('change', { payees: { [PAYEE.dictKey]: payee } })
  }

  send(order: PayoutOrder, timeoutMs?: number) {
    return this.gateway.sendPayout(order, signal(timeoutMs))
  }

  find(order: SentOrder) {
    return this.gateway.getPayout(order, signal())
  }

  settle(): Promise<unknown> {
    return this.bank.run('settle')
  }

  /** Cents that left by payouts and did not come back, whatever their ids; without fees. */
  async readPaidOut(): Promise<number> {
    const { entries } = await this.bank.run('readBook')
    const moved = entries.filter(({ kind }) => kind.startsWith('payout') && kind !== 'payout_fee')
    return 0 - moved.reduce((sum, { amount }) => sum + amount, 0)
  }

  /** Number of requests to send a payout since the bank had this many exchanges. */
  async countSends(after: number): Promise<number> {
    const exchanges = await this.bank.run('readTraffic', { after })
    return exchanges.filter(({ target }) => target.startsWith(SEND_PATH)).length
  }

  /** Sends a payout as another program of the operator would; returns its end-to-end id. */
  async payAlone(id: string, amount: number, key = PAYEE.dictKey): Promise<string> {
    const { body, status } = await this.client.call('PUT', SEND_PATH + id, {
      valor: formatDecimalAmount(amount),
      pagador: { chave: PAYING_KEY },
      favorecido: { chave: key },
    })
    expect(status).toBe(201)
    return body.e2eId
  }

  /** A payout of another program that was sent, and ended, at this time. */
  async payAloneAt(sentAt: Date, amount = 300): Promise<string> {
    await this.bank.run('change', { clockOffsetMs: sentAt.getTime() - Date.now() })
    const endToEndId = await this.payAlone(newPayoutId(), amount)
    await this.settle()
    await this.bank.run('change', { clockOffsetMs: 0 })
    return endToEndId
  }
}

export function signal(timeoutMs = 10_000): AbortSignal {
  return AbortSignal.timeout(timeoutMs)
}

export function newPayoutId(): string {
  return removeHyphens(newId())
}

export function newPayout(changes: Partial<PayoutOrder> = {}): PayoutOrder {
  const { dictKey } = PAYEE
  return { id: newPayoutId(), amount: 1_234, dictKey, ownerDoc: null, ...changes }
}
