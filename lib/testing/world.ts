import { newId } from '#lib/base/ids.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeMerchant, makeToken, receive } from '#lib/testing/stage.ts'

/** Ids for the parameters of a path, all of one merchant. */
export interface World {
  merchant: Account
  token: string
  charge: string
  paid: string
  withdrawal: string
  refund: string
}

/** Makes a merchant with one of everything; `word` is in every text that a client can set. */
export async function makeWorld(api: Api, word = 'plain'): Promise<World> {
  const merchant = await makeMerchant(`Loja ${word}`)
  const token = await makeToken(merchant.id)
  await receive(merchant, 100_000)
  const send = async (path: string, body: object) =>
    (await call(api.url, 'POST', path, { token, body })).body.data
  const webhook_url = `https://${word}.example/hook`
  const words = { metadata: { [word]: word }, utms: { [word]: word }, webhook_url }
  const payer = { client_name: `Ana ${word}`, client_email: `${word}@example.com` }
  const items = [{ name: word }]
  const order = { ...CHARGE, ...words, ...payer, items }
  const [charge, paid] = [newId(), newId()].map(id => ({ ...order, external_id: `${word}${id} x` }))
  const chargeId = (await send('/transactions', charge ?? {})).transaction_id
  const paidId = (await send('/transactions', paid ?? {})).transaction_id
  await send(`/sandbox/transactions/${paidId}`, { outcome: 'paid' })
  const key = { pix_key: `hold@${word}.example`, pix_key_type: 'email', external_id: `${word} 1` }
  const withdrawal = await send('/withdrawals', { amount: 1_000, ...key, webhook_url })
  const refund = await send(`/transactions/${paidId}/refunds`, { amount: 100, reason: word })
  const ids = { charge: chargeId, paid: paidId, withdrawal: withdrawal.id, refund: refund.id }
  return { merchant, token, ...ids }
}

/** Fills the parameters of a path with ids of this world. */
export function addressIn(world: World, path: string): string {
  const charge = path.includes('/refunds') ? world.paid : world.charge
  return path
    .replace('[refund_id]', world.refund)
    .replace('[id]', path.includes('/withdrawals/') ? world.withdrawal : charge)
}
