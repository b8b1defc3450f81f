import { setTimeout as sleep } from 'node:timers/promises'
import { inviteMember } from '#lib/accounts/invitations.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { accountKey } from '#lib/api-pix/wire.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { openSession } from '#lib/people/sessions.ts'
import type { ApiProcess } from '#lib/testing/api-process.ts'
import { addEndpoint, createPaidCharge, deliveriesOf } from '#lib/testing/deliveries.ts'
import { CHARGE, fundMerchant, makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { pageHeaders, personHeaders } from '#lib/testing/member.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

export type HeaderLines = [name: string, value: string][]

/** The objects that requests use. Only the ids differ between runs. */
export interface World {
  accounts: string[]
  token: string
  merchant: HeaderLines
  member: HeaderLines
  /** A user without an account. */
  person: HeaderLines
  /** A member of the operator's staff. */
  admin: HeaderLines
  /** Callers without access: no token, or a token that is invalid, expired or of others. */
  others: HeaderLines[]
  pending: string[]
  /** Pending, too: no other request pays or cancels them. */
  unpaid: string[]
  paid: string[]
  /** Withdrawals that were approved. */
  payouts: string[]
  withdrawals: string[]
  refunds: [charge: string, refund: string][]
  /** Refunds that wait for the bank. */
  heldRefunds: string[]
  /** Open disputes, each with a file of evidence. */
  disputes: [dispute: string, evidence: string][]
  endpoints: string[]
  deliveries: string[]
  /** In the log of requests. */
  requests: string[]
  /** Tokens that no request uses, so that requests can revoke them. */
  spareTokens: string[]
  /** Tokens that no other token has created: members can adopt only those. */
  issuedTokens: string[]
  spareMembers: string[]
  invitations: string[]
  /** An account that no other request uses. */
  spareAccount: string
  since: string
  /** What a program of API Pix has. */
  apiPix: {
    caller: HeaderLines
    credentials: HeaderLines
    key: string
    /** End-to-end ids. */
    payments: string[]
  }
}

const BALANCE = 100_000_000_00
/**
 * Number of charges, withdrawals and tokens created in advance: each can be settled or revoked only
 * once.
 */
const RESOURCE_COUNT = 60
const ENDPOINT_COUNT = 8
/** A URL on which no server listens. */
const HOOK_URL = 'http://127.0.0.1:9999/hook'
const WITHDRAWAL = { amount: 1_000, pix_key: 'fuzz@troco.example', pix_key_type: 'email' }

export async function makeWorld({ url }: ApiProcess): Promise<World> {
  const [merchant, otherMerchant, suspendedMerchant] = [
    await makeMerchant('Padaria do Fuzz'),
    await makeMerchant('Loja vizinha'),
    await makeMerchant('Loja parada'),
  ]
  const token = await makeToken(merchant.id)
  const past = new Date(Date.now() - 1_000)
  const tokens = [
    await makeToken(merchant.id, { permissions: ['account:read'] }),
    await makeToken(merchant.id, { expiresAt: past }),
    await makeToken(otherMerchant.id),
    await makeToken(suspendedMerchant.id),
  ]
  await fundMerchant(merchant, BALANCE)
  await suspendAccount(suspendedMerchant.id, 'fuzz', { type: 'system' })
  const post = makePoster(url, token)
  const slots = Array.from({ length: RESOURCE_COUNT })
  const openCharges = await Promise.all(
    slots.map(() => post('transactions', { ...CHARGE, amount: 5_000 })),
  )
  const charges = openCharges.map(charge => charge.transaction_id as string)
  const paid = charges.splice(0, RESOURCE_COUNT / 3)
  const unpaid = charges.splice(0, ENDPOINT_COUNT)
  for (const id of paid) await post(`sandbox/transactions/${id}`, { outcome: 'paid' })
  const withdrawals = await Promise.all(slots.map(() => post('withdrawals', WITHDRAWAL)))
  const payouts = withdrawals.slice(0, ENDPOINT_COUNT).map(({ id }) => id as string)
  for (const id of payouts) await post(`sandbox/withdrawals/${id}`, { outcome: 'approved' })
  const refund = await post(`transactions/${paid[0]}/refunds`, { amount: 100 })
  const endpoints: string[] = []
  for (let count = 0; count < ENDPOINT_COUNT; count++)
    endpoints.push((await addEndpoint(merchant, HOOK_URL)).id)
  for (let count = 0; count < ENDPOINT_COUNT; count++) await createPaidCharge(merchant, HOOK_URL)
  return {
    accounts: [merchant.id, otherMerchant.id, suspendedMerchant.id],
    token,
    merchant: bearerHeader(token),
    member: await signInMember(merchant.id),
    person: await signInPerson(false),
    admin: await signInPerson(true),
    spareAccount: (await makeMerchant('Loja à parte')).id,
    others: [[], bearerHeader('none'), ...tokens.map(bearerHeader)],
    pending: charges,
    unpaid,
    paid,
    payouts,
    withdrawals: withdrawals.map(withdrawal => withdrawal.id as string),
    since: past.toISOString(),
    endpoints,
    spareTokens: await makeSpareTokens(post),
    issuedTokens: await issueTokens(merchant.id),
    spareMembers: await makeSpareMembers(merchant.id),
    invitations: await makeInvitations(merchant.id),
    deliveries: (await deliveriesOf(merchant)).map(({ id }) => id),
    requests: await listLogged(merchant.id),
    apiPix: await makeApiPix(url, merchant.id),
    refunds: refund.id ? [[paid[0] as string, refund.id as string]] : [],
    heldRefunds: await makeHeldRefunds(post),
    disputes: await makeDisputes(post),
  }
}

async function makePaidCharge(post: Poster, more: object = {}): Promise<string> {
  const { transaction_id: id } = await post('transactions', { ...CHARGE, amount: 5_000, ...more })
  await post(`sandbox/transactions/${id}`, { outcome: 'paid' })
  return id as string
}

async function makeHeldRefunds(post: Poster): Promise<string[]> {
  const charge = await makePaidCharge(post, { client_email: 'hold@troco.example' })
  const ids: string[] = []
  for (let count = 0; count < ENDPOINT_COUNT; count++)
    ids.push((await post(`transactions/${charge}/refunds`, { amount: 100 })).id as string)
  return ids
}

async function makeDisputes(post: Poster): Promise<World['disputes']> {
  const evidence = { file: Buffer.from('%PDF-1.7').toString('base64'), file_name: 'nota 🦊.pdf' }
  const disputes: World['disputes'] = []
  for (let count = 0; count < ENDPOINT_COUNT; count++) {
    const charge = await makePaidCharge(post)
    const { id } = await post(`sandbox/transactions/${charge}/disputes`, {})
    const sent = await post(`disputes/${id}/evidence`, evidence)
    disputes.push([id as string, sent.id as string])
  }
  return disputes
}

async function makeApiPix(url: string, accountId: string): Promise<World['apiPix']> {
  const { id, token } = await issueToken(
    { accountId, mode: 'test', name: 'ERP', permissions: [...PERMISSIONS] },
    { type: 'system' },
  )
  const basic = `Basic ${Buffer.from(`${id}:${token}`).toString('base64')}`
  const headers = { authorization: basic, 'content-type': 'application/json', connection: 'close' }
  const body = JSON.stringify({ grant_type: 'client_credentials' })
  const response = await fetch(`${url}/api/pix/oauth/token`, { method: 'POST', headers, body })
  const { access_token } = (await response.json()) as { access_token: string }
  const paid = await db().charge.findMany({
    where: { accountId, status: 'paid' },
    select: { endToEndId: true },
  })
  return {
    caller: bearerHeader(access_token),
    credentials: [['Authorization', basic]],
    key: accountKey(accountId, 'test'),
    payments: paid.map(({ endToEndId }) => endToEndId ?? ''),
  }
}

/** The server stores a request a moment after its response. */
async function listLogged(accountId: string): Promise<string[]> {
  for (;;) {
    const stored = await db().requestLog.findMany({ where: { accountId }, select: { id: true } })
    if (stored.length > 0) return stored.map(({ id }) => id)
    await sleep(100)
  }
}

/** Created by the merchant's token, which may change only those. */
async function makeSpareTokens(post: Poster): Promise<string[]> {
  const ids: string[] = []
  for (let count = 0; count < RESOURCE_COUNT; count++) {
    const created = await post('tokens', { name: 'spare', permissions: ['account:read'] })
    ids.push(created.id as string)
  }
  return ids
}

async function issueTokens(accountId: string): Promise<string[]> {
  const tokenOptions = { accountId, mode: 'test' as const, name: 'issued', permissions: [] }
  const ids: string[] = []
  for (let count = 0; count < ENDPOINT_COUNT; count++)
    ids.push((await issueToken(tokenOptions, { type: 'system' })).id)
  return ids
}

async function makeSpareMembers(accountId: string): Promise<string[]> {
  const ids = Array.from({ length: ENDPOINT_COUNT }, () => newId())
  const users = ids.map(id => ({
    id,
    email: `spare-${id}@troco.example`,
    name: 'spare',
    ...VERIFIED,
  }))
  await db().user.createMany({ data: users })
  const role = 'viewer'
  await db().membership.createMany({ data: ids.map(userId => ({ accountId, userId, role })) })
  return ids
}

async function makeInvitations(accountId: string): Promise<string[]> {
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId, role: 'owner' } })
  const actor = { type: 'user', id: userId } as const
  const ids: string[] = []
  for (let count = 0; count < ENDPOINT_COUNT; count++) {
    const request = { email: `asked-${count}@troco.example`, role: 'viewer' } as const
    ids.push((await inviteMember(accountId, request, actor)).id)
  }
  return ids
}

function bearerHeader(token: string): HeaderLines {
  return [['Authorization', `Bearer ${token}`]]
}

type Poster = ReturnType<typeof makePoster>

function makePoster(url: string, token: string) {
  return async (path: string, body: unknown): Promise<Record<string, unknown>> => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      connection: 'close',
    }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = (await (await fetch(`${url}/api/${path}`, init)).json()) as { data?: object }
    return { ...response.data }
  }
}

async function signInPerson(isAdmin: boolean): Promise<HeaderLines> {
  const id = newId()
  const email = `fuzz-${id}@troco.example`
  await db().user.create({ data: { id, email, name: 'Fuzz', isAdmin, ...VERIFIED } })
  return Object.entries(personHeaders(await openSession(id, { ip: null, userAgent: null })))
}

async function signInMember(accountId: string): Promise<HeaderLines> {
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId } })
  const secret = await openSession(userId, { ip: null, userAgent: null })
  return Object.entries(pageHeaders(secret, accountId))
}
