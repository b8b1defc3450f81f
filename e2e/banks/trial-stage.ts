import { EfiAccount } from '#e2e/banks/efi-account.ts'
import { openAt } from '#e2e/banks/open.ts'
import { storeNotices } from '#lib/banks/notices.ts'
import type { NewConnection } from '#lib/banks/schema.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { removeHyphens, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db } from '#lib/db/client.ts'
import { listOwnRows } from '#lib/operator/reconciliation/rows.ts'
import { readBalances } from '#lib/testing/balances.ts'
import {
  expireDueCharges,
  makeOrdersDue,
  sendDueRefunds,
  sendDueWithdrawals,
} from '#lib/testing/orders.ts'
import type { Trial } from '#lib/trials/schema.ts'
import { beginTrial, continueTrials, findLatestTrial } from '#lib/trials/trial.ts'
import { askAboutNotices } from '#lib/worker/worker.ts'

const ACTOR = { type: 'command_line' } as const
export const KEY = 'ana@example.com'

export const ALL_DONE = {
  charge: 'done',
  payment: 'done',
  notice: 'done',
  refund: 'done',
  withdrawal: 'done',
}
export const isEnded = ({ status }: Trial) => status !== 'running'
export const hasCode = ({ br_code }: Trial) => br_code !== null
export const isPaid = ({ steps }: Trial) => steps[1]?.state === 'done'
export const txidOf = ({ id }: Trial) => removeHyphens(id)
export const stateOf = ({ steps }: Trial) =>
  Object.fromEntries(
    steps.map(({ step, state, code }) => [step, code ? `${state} ${code}` : state]),
  )

/** Trials of connections to an account at the test bank. */
export class TrialStage {
  readonly account: EfiAccount
  connectionId = ''

  constructor(account: EfiAccount) {
    this.account = account
  }

  static async open(): Promise<TrialStage> {
    return new TrialStage(await EfiAccount.open())
  }

  get bank() {
    return this.account.bank
  }

  /** From now on, a new connection is tried: nothing is known of earlier trials. */
  async connect(changes: Partial<NewConnection> = {}): Promise<void> {
    await this.bank.run('clearFaults')
    await this.bank.run('change', { refundFailure: null, payees: {} })
    const keys = { receiving_keys: this.bank.keys.slice(0, 1), paying_key: this.bank.keys[1] }
    const { id } = await openAt(this.bank, { kind: 'efi', ...keys, ...changes })
    this.connectionId = id
  }

  begin(changes: { pixKey?: string | null } = {}): Promise<Trial> {
    return beginTrial({ connectionId: this.connectionId, pixKey: KEY, actor: ACTOR, ...changes })
  }

  async read(): Promise<Trial> {
    const found = await findLatestTrial(this.connectionId)
    if (!found) throw new Error('There is no trial')
    return found
  }

  /** Does what the worker does for the charge, the refund and the withdrawal, now. */
  async work(): Promise<void> {
    await db().$executeRaw`
      UPDATE charges SET due_at = now() WHERE account_id = ${TRIAL_ACCOUNT_ID}::uuid AND due_at IS NOT NULL
        AND lease IS NULL`
    await expireDueCharges()
    await continueTrials()
    await makeOrdersDue()
    await sendDueRefunds()
    await sendDueWithdrawals()
  }

  /** Works until the condition holds; the bank ends its orders between. */
  async workUntil(isReached: (found: Trial) => boolean): Promise<Trial> {
    for (let count = 0; count < 60; count++) {
      await this.work()
      const found = await this.read()
      if (isReached(found)) return found
      await this.bank.run('settle')
    }
    throw new Error(`The trial does not go on: ${JSON.stringify(await this.read())}`)
  }

  /** Begins a trial and waits for its code. */
  async open(changes: { pixKey?: string | null } = {}): Promise<Trial> {
    const begun = await this.begin(changes)
    return hasCode(begun) ? begun : this.workUntil(hasCode)
  }

  /** Pays the code as the app of another bank does. Returns the payment's id. */
  async pay(found: Trial, changes = {}): Promise<string> {
    const [payment] = await this.bank.run('pay', { txid: txidOf(found), ...changes })
    return payment?.e2eid ?? ''
  }

  /** Delivers the notices that the bank has posted about a payment. */
  async announce(e2eid: string): Promise<void> {
    await this.bank.run('waitForNotices')
    const gateway = await gatewayOfConnection(this.connectionId)
    const posted = this.account.receiver.notices.map(({ body }) => JSON.stringify(body))
    for (const body of posted.filter(text => text.includes(e2eid)))
      await storeNotices(this.connectionId, gateway.parseWebhook?.(body) ?? [])
    await askAboutNotices()
  }

  /** A trial from its beginning to its end, without a fault unless the bank has one. */
  async run(changes: { pixKey?: string | null } = {}): Promise<Trial> {
    await this.announce(await this.pay(await this.open(changes)))
    return this.workUntil(isEnded)
  }

  async payoutsTo(key: string) {
    const { payouts } = await this.bank.run('readRecords')
    return payouts.filter(({ payeeKey }) => payeeKey === key)
  }

  async refundsOf(e2eid: string) {
    const { payments } = await this.bank.run('readRecords')
    return payments.find(one => one.e2eid === e2eid)?.refunds ?? []
  }

  /** Rows of the books that today's reconciliation reads. */
  async listOwn() {
    const rows = await listOwnRows(this.connectionId, dayOf(new Date()), [])
    return rows.map(({ what, amount, state }) => [what, amount, state]).sort()
  }

  /** How many payments of the code wait among the differences, of any connection to the account. */
  countItems(found: Trial): Promise<number> {
    return db().difference.count({ where: { facts: { path: ['txid'], equals: txidOf(found) } } })
  }
}

/** Balance of the trial account, held amounts included. */
export async function readRest(mode: Mode = 'live'): Promise<number> {
  const { available = 0, outbound = 0 } = await readBalances(TRIAL_ACCOUNT_ID, mode)
  return available + outbound
}
