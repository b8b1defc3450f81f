import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { storeRequests } from '#lib/http/request-log.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CANARY,
  CHARGE,
  fundMerchant,
  makeMerchant,
  makeToken,
} from '#lib/testing/fixtures.ts'

/** Ids for the parameters of a path, all of one merchant. */
export interface World {
  merchant: Account
  token: string
  charge: string
  paid: string
  withdrawal: string
  /** A withdrawal that the simulated bank has paid. */
  payout: string
  refund: string
  /** A refund that waits for a decision. */
  held: string
  dispute: string
  /** With a file. */
  evidence: string
  request: string
  /** Receives no event: of `withdrawal.returned` only, which no test world has. */
  endpoint: string
  delivery: string
  /** A token that `token` created. */
  child: string
}

/** Makes a merchant with one of everything; `marker` is in every text that a client can set. */
export async function makeWorld(api: Api, marker = 'plain'): Promise<World> {
  const merchant = await makeMerchant(`Loja ${marker}`)
  const token = await makeToken(merchant.id)
  await fundMerchant(merchant, 100_000)
  const send = async (path: string, body: object) =>
    (await call(api.url, 'POST', path, { token, body })).body.data
  const webhook_url = `https://${marker}.example/hook`
  const markedFields = { metadata: { [marker]: marker }, utms: { [marker]: marker }, webhook_url }
  const payer = { client_name: `Ana ${marker}`, client_email: `${marker}@example.com` }
  const items = [{ name: marker }]
  const order = { ...CHARGE, ...markedFields, ...payer, items }
  const [charge, paid] = [newId(), newId()].map(id => ({
    ...order,
    external_id: `${marker}-${id} x`,
  }))
  const chargeId = (await send('/transactions', charge ?? {})).transaction_id
  const paidId = (await send('/transactions', paid ?? {})).transaction_id
  await send(`/sandbox/transactions/${paidId}`, { outcome: 'paid' })
  const key = {
    pix_key: `hold@${marker}.example`,
    pix_key_type: 'email',
    external_id: `${marker} 1`,
  }
  const withdrawal = await send('/withdrawals', { amount: 1_000, ...key, webhook_url })
  const refund = await send(`/transactions/${paidId}/refunds`, { amount: 100, reason: marker })
  const held = await makeHeldRefund(api, token, order)
  const dispute = await send(`/sandbox/transactions/${held.transaction_id}/disputes`, {
    amount: 100,
  })
  const evidence = await send(`/disputes/${dispute.id}/evidence`, {
    text: marker,
    file: Buffer.from(`%PDF-1.7 ${marker}`).toString('base64'),
    file_name: marker,
  })
  const request = await logRequest(api, token, marker)
  const url = `http://127.0.0.1:8009/${marker}`
  const endpoint = await send('/webhooks/endpoints', { url, event_types: ['withdrawal.returned'] })
  const child = await send('/tokens', { name: marker, permissions: ['account:read'] })
  const deliveries = await call(api.url, 'GET', '/webhooks/deliveries', { token })
  const ids = {
    charge: chargeId,
    paid: paidId,
    withdrawal: withdrawal.id,
    payout: await makePayout(api, token, marker),
    refund: refund.id,
    held: held.id,
    dispute: dispute.id,
    evidence: evidence.id,
    request,
    endpoint: endpoint.id,
    delivery: deliveries.body.data[0].id,
    child: child.id,
  }
  return { merchant, token, ...ids }
}

/** Sends a request and returns its id in the log. A server of its own process stores it by itself. */
async function logRequest(api: Api, token: string, marker: string): Promise<string> {
  for (;;) {
    // The process notes a limited number, and other tests may have taken all places.
    await storeRequests()
    const headers = { 'x-request-id': marker.replace(CANARY.document, 'document') }
    await call(api.url, 'GET', '/account', { token, headers })
    await storeRequests()
    const { body } = await call(api.url, 'GET', '/requests?path=/account', { token })
    if (body.data.length > 0) return body.data[0].id
    await sleep(50)
  }
}

/** Makes a withdrawal that the simulated bank has paid, and returns its id. */
async function makePayout(api: Api, token: string, marker: string): Promise<string> {
  const order = { amount: 1_000, pix_key: `hold@${marker}.example`, pix_key_type: 'email' }
  const { id } = (await call(api.url, 'POST', '/withdrawals', { token, body: order })).body.data
  const body = { outcome: 'approved' }
  await call(api.url, 'POST', `/sandbox/withdrawals/${id}`, { token, body })
  return id
}

/** Pays a charge whose refunds wait for a decision, and asks for one. */
async function makeHeldRefund(api: Api, token: string, order: object) {
  const send = async (path: string, body: object) =>
    (await call(api.url, 'POST', path, { token, body })).body.data
  const charge = {
    ...order,
    external_id: newId().replace('-', ' '),
    client_email: 'hold@example.com',
  }
  const { transaction_id } = await send('/transactions', charge)
  await send(`/sandbox/transactions/${transaction_id}`, { outcome: 'paid' })
  return send(`/transactions/${transaction_id}/refunds`, { amount: 100 })
}

/** Makes a token the parent of the world's child, and that active: a token reaches only its own. */
export async function giveChild({ merchant, child }: World, token: string): Promise<void> {
  await db().$executeRaw`
    UPDATE tokens SET revoked_at = NULL, revoked_reason = NULL, replaced_by = NULL, expires_at = NULL,
      parent_id = (SELECT id FROM tokens
        WHERE account_id = ${merchant.id}::uuid AND prefix = ${token.slice(0, 20)})
    WHERE account_id = ${merchant.id}::uuid AND id = ${child}::uuid`
}

/** Replaces the parameters of a path by ids of this world. */
export function resolvePath(world: World, path: string): string {
  const { charge, paid, withdrawal, payout, request, endpoint, delivery, child } = world
  const isReceipt = path.endsWith('/receipt.pdf')
  const ids = {
    withdrawals: isReceipt ? payout : withdrawal,
    requests: request,
    endpoints: endpoint,
    deliveries: delivery,
    tokens: child,
    disputes: world.dispute,
    refunds: world.held,
  }
  const folder = /(\w+)\/\[id\]/.exec(path)?.[1] as keyof typeof ids
  const ofCharge = isReceipt || /\/(refunds|disputes)/.test(path) ? paid : charge
  return path
    .replace('[evidence_id]', world.evidence)
    .replace('[refund_id]', world.refund)
    .replace('[id]', ids[folder] ?? ofCharge)
}
