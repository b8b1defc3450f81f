import { expect, readSetting } from '#e2e/browser/app.ts'
import type { Shop } from '#e2e/browser/merchant.ts'
import { inviteMember } from '#lib/accounts/invitations.ts'
import { openDispute } from '#lib/charges/disputes/dispute.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { openChallenge } from '#lib/people/factors.ts'
import { createResetPath } from '#lib/people/password.ts'
import { openSession } from '#lib/people/sessions.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { addConnection, assignConnection, openLiveCharge } from '#lib/testing/connection.ts'
import { keepStray } from '#lib/testing/differences.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import { issueToken } from '#lib/tokens/issue.ts'

/** The longest name and text without a space, where a line can break only inside a word. */
export const NAME = `Companhia${'Paranaense'.repeat(9)}`
export const PAYER_NAME = `Maria${'Aparecida'.repeat(27)} Souza`
export const EMAIL = `${'financeiro'.repeat(6)}@${'filial'.repeat(10)}.${'matriz'.repeat(10)}.troco.example`
export const URL = `http://127.0.0.1:1025/${'webhooks-de-pagamento/'.repeat(90)}`
export const REFERENCE = 'pedido-'.repeat(36)
export const AMOUNT_MAX = 999_999_999_999

const BROWSER = { ip: null, userAgent: 'a browser' }

/** Ids and secrets by the names that e2e/browser/extreme-pages.ts uses. */
export interface Ids {
  [kind: string]: string
}

/** A new e-mail of the maximum length. */
const newEmail = () => `${newId()}-${EMAIL}`.slice(0, 254)

/** Creates one object of each kind with the longest content that is allowed. */
export async function fillShop({ id: accountId, token }: Shop): Promise<Ids> {
  const api = readSetting('BASE_URL')
  const send = async (path: string, body: object) => {
    const response = await call(api, 'POST', path, { token, body })
    expect(response.status, `${path} ${response.text}`).toBe(200)
    return response.body.data
  }
  const charge = (external_id: string) =>
    send('/transactions', {
      amount: AMOUNT_MAX,
      client_name: PAYER_NAME,
      client_email: EMAIL,
      external_id,
      client_doc: '529.982.247-25',
      client_phone: '+55 (11) 98765-4321',
      webhook_url: URL,
      items: [{ name: NAME.repeat(3), price: AMOUNT_MAX, quantity: 1_000_000 }],
      metadata: { [REFERENCE]: URL, observação: PAYER_NAME },
      utms: { utm_campaign: REFERENCE, utm_source: NAME },
    })
  const withdraw = (external_id: string) => {
    const key = { pix_key: `hold@${EMAIL.slice(-70)}`, pix_key_type: 'email' }
    return send('/withdrawals', { amount: AMOUNT_MAX, ...key, external_id, webhook_url: URL })
  }
  const open = await charge(REFERENCE)
  const paid = await charge(`x${REFERENCE}`)
  const kept = await charge(`y${REFERENCE}`)
  const spent = await charge(`z${REFERENCE}`)
  for (const { transaction_id } of [paid, kept, spent])
    await send(`/sandbox/transactions/${transaction_id}`, { outcome: 'paid' })
  // While the owner is alone: of two, the other one would have to approve it.
  const { id: payout } = await withdraw(`x${REFERENCE}`)
  await send(`/sandbox/withdrawals/${payout}`, { outcome: 'approved' })
  const { id: userId } = await db().user.create({
    data: { id: newId(), email: newEmail(), name: NAME, ...VERIFIED },
  })
  await db().membership.create({ data: { accountId, userId, role: 'owner' } })
  const permissions = ['transactions:read', 'account:read', 'events:read'] as const
  const issuer = { type: 'user', id: userId } as const
  await issueToken({ accountId, mode: 'test', name: NAME, permissions: [...permissions] }, issuer)
  const { id: withdrawal } = await withdraw(REFERENCE)
  const { id: endpoint } = await send('/webhooks/endpoints', { url: URL, event_types: '*' })
  const where = { accountId }
  const delivery = await db().delivery.findFirstOrThrow({ where })
  const { payment_url: payment } = (
    await call(api, 'GET', `/transactions/${open.transaction_id}`, { token })
  ).body.data
  const readRequests = async () =>
    (await call(api, 'GET', '/requests?method=POST&limit=100', { token })).body.data
  await expect.poll(async () => (await readRequests()).length).toBeGreaterThanOrEqual(11)
  // The oldest one created the charge with the longest content.
  const request = (await readRequests()).at(-1).id
  return {
    person: userId,
    request,
    endpoint,
    open: open.transaction_id,
    paid: paid.transaction_id,
    withdrawal,
    payout,
    payment,
    account: accountId,
    delivery: delivery.id,
  }
}

/** Connects the shop to a bank with a long name that reports a dispute and a payment without a charge. */
export async function fillBank(shop: Shop): Promise<Ids> {
  const name = `Banco ${newId()} ${'Cooperativo'.repeat(9)}`.slice(0, 60)
  const bank = await addConnection(new StubBank(), { name })
  await assignConnection(bank, shop)
  const { id: chargeId } = await openLiveCharge(shop, AMOUNT_MAX)
  const payment = makePayment(AMOUNT_MAX)
  await receivePayments([{ accountId: shop.id, chargeId, payments: [payment] }])
  const { endToEndId } = payment
  const respondBy = new Date(Date.now() + 86_400_000)
  const report = { connectionId: bank, bankId: newId(), endToEndId, amount: AMOUNT_MAX, respondBy }
  const dispute = await openDispute(report)
  await openLiveCharge(shop, AMOUNT_MAX)
  const { itemId } = await keepStray(AMOUNT_MAX, { connectionId: bank, mode: 'live' })
  return { bank, dispute: dispute?.id ?? '', item: itemId }
}

/** Nothing answers at the bank: other tests would see its calls fail. */
export async function closeBank({ id }: Shop, bank: string): Promise<void> {
  const unassigned = { receivingConnectionId: null, payingConnectionId: null }
  await db().account.update({ where: { id }, data: unassigned })
  const data = { isAssignable: false, disabledAt: new Date() }
  await db().connection.update({ where: { id: bank }, data })
}

/**
 * Opens a link of each kind that is mailed, and sessions of the owner and of a user who has not proven
 * the e-mail.
 */
export async function makeLinks({ id: accountId }: Shop): Promise<Ids> {
  const { userId: inviter } = await db().membership.findFirstOrThrow({ where: { accountId } })
  const data = { id: newId(), email: newEmail(), name: NAME }
  const { id: unproven } = await db().user.create({ data })
  const request = { email: newEmail(), account_name: NAME, full_name: NAME }
  const invitation = { email: newEmail(), role: 'developer' } as const
  const { path } = await inviteMember(accountId, invitation, { type: 'user', id: inviter })
  return {
    signup: await openChallenge('sign_up', { value: JSON.stringify(request) }),
    reset: secretOf(await createResetPath(unproven)),
    invitation: secretOf(path),
    verification: await openChallenge('email', { userId: unproven }),
    owner: await openSession(inviter, BROWSER),
    unproven: await openSession(unproven, BROWSER),
  }
}

function secretOf(path: string): string {
  return path.split('/').at(-1) ?? ''
}
