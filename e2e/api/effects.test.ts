import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { isPermission, PERMISSIONS, type Permission, ROLES } from '#lib/people/roles.ts'
import { readSession } from '#lib/session/read.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import { createPaidCharge } from '#lib/testing/deliveries.ts'
import { findPath, stateOf, walkStates } from '#lib/testing/effect-paths.ts'
import {
  type Caller,
  choicesOf,
  isGranted,
  mayCall,
  type Operation,
  RULES,
  readOperations,
} from '#lib/testing/effects.ts'
import { type Api, CANARY, CHARGE, makeToken, startApi } from '#lib/testing/fixtures.ts'
import {
  pageHeaders,
  personHeaders,
  signIn,
  signInAdmin,
  signInWithoutAccount,
} from '#lib/testing/member.ts'
import { letWait } from '#lib/testing/orders.ts'
import { makeSilentMerchant, withdrawInSilence } from '#lib/testing/silent-bank.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { pickInTurn } from '#lib/testing/turn.ts'
import { makeWorld, type World } from '#lib/testing/world.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import type { WithdrawalTerms } from '#lib/withdrawals/schema.ts'

const operations = await readOperations()
const isWrite = ({ method }: Operation) => method !== 'GET'

describe('the graph of effects', () => {
  test('contains every write', () => {
    const absent = operations.filter(one => isWrite(one) && one.effect === undefined)
    expect(absent.map(({ name }) => name)).toEqual([])
  })

  test('has no path from any state to an effect that its own roles and tokens lack', () => {
    const { states, transitions, gains } = walkStates(operations)
    expect(gains).toEqual([])
    expect([states > 20_000, transitions > 200_000]).toEqual([true, true])
  })

  const DEVELOPER = stateOf('session developer')
  const pathTo = (wanted: Parameters<typeof findPath>[1], table = operations, rules = RULES) =>
    findPath(DEVELOPER, wanted, table, rules)

  testInTorture('has the old holes without the rules that closed them', () => {
    expect(pathTo('withdrawal', operations, { ...RULES, newToken: false })).toEqual([
      'POST /tokens (withdrawals:write)',
      'POST /withdrawals',
    ])
    expect(pathTo('withdrawal', operations, { ...RULES, tokenValue: false })).toEqual([
      'POST /tokens/[id]/rotate (withdrawals:write)',
      'POST /withdrawals',
    ])
    const withoutReceiver = pathTo('document', operations, { ...RULES, receiver: false })
    expect(withoutReceiver?.[0]).toMatch(/^(POST|PATCH) .*(endpoints|transactions).* \(full\)$/)
    const alone = stateOf('admin')
    const ofOwnProposal = findPath(alone, 'end', operations, { ...RULES, end: false })
    const END = 'POST /admin/orders/[id]/end'
    expect(ofOwnProposal).toEqual([END, `${END}/confirm (own proposal)`])
    expect(findPath(alone, 'end', operations)).toBeUndefined()
    expect(walkStates(operations, { ...RULES, newToken: false }).gains).toContain(
      'POST /tokens (withdrawals:write): token withdrawals:write',
    )
  })

  test.each([
    ['POST /withdrawals', 'transactions:write', 'withdrawal'],
    ['POST /dashboard/invitations', 'webhooks:write', 'membership'],
    ['POST /dashboard/charges/[id]/document', 'webhooks:write', 'document'],
  ] as const)('shows that %s must not require only %s', (name, permission, reached) => {
    const table = operations.map(one => (one.name === name ? { ...one, allow: [permission] } : one))
    expect(pathTo(reached)).toBeUndefined()
    expect(pathTo(reached, table)).toBeDefined()
  })
})

const member = (role: (typeof ROLES)[number]) => ({ kind: 'member' as const, role })
const token = (...permissions: Permission[]) => ({ kind: 'token' as const, permissions })
const CALLERS: Caller[] = [
  ...ROLES.map(member),
  ...PERMISSIONS.map(name => token(name)),
  ...(['person', 'admin', 'visitor'] as const).map(kind => ({ kind })),
]
const nameOf = (caller: Caller) =>
  caller.kind === 'member'
    ? caller.role
    : caller.kind === 'token'
      ? `token ${caller.permissions.join(' ')}`
      : caller.kind

let api: Api
let world: World
beforeAll(async () => {
  api = await startApi()
  world = await makeWorld(api)
})
afterAll(() => api.close())

const issuedTokens = new Map<string, Promise<string>>()

/** Reuses tokens: an account has at most 100. */
function tokenOf(caller: Caller & { kind: 'token' }): Promise<string> {
  const permissions = [...caller.permissions]
  const issued = issuedTokens.get(nameOf(caller)) ?? makeToken(world.merchant.id, { permissions })
  issuedTokens.set(nameOf(caller), issued)
  return issued
}

const sessions = new Map<string, Promise<string>>()

/** Opens a session. Only a write that is let in may end its session or change its user. */
function sessionOf(caller: Caller, operation: Operation): Promise<string> {
  const isShared = operation.method === 'GET' || !mayCall(operation, caller)
  const key = isShared ? nameOf(caller) : `${nameOf(caller)} ${operation.name} ${newId()}`
  const secret =
    sessions.get(key) ??
    (caller.kind === 'member'
      ? signIn(world.merchant, caller.role)
      : caller.kind === 'admin'
        ? signInAdmin()
        : signInWithoutAccount())
  sessions.set(key, secret)
  return secret
}

async function send(operation: Operation, caller: Caller, path = operation.path, body = {}) {
  const { method, audience } = operation
  const hasBody = !['GET', 'DELETE'].includes(method)
  const options = { body: hasBody ? body : undefined }
  const target = path.replaceAll(/\[\w+\]/g, newId())
  if (caller.kind === 'visitor') return call(api.url, method, target, options)
  if (caller.kind === 'token')
    return call(api.url, method, target, { ...options, token: await tokenOf(caller) })
  const secret = await sessionOf(caller, operation)
  const headers =
    audience === 'account' ? pageHeaders(secret, world.merchant.id) : personHeaders(secret)
  return call(api.url, method, target, { ...options, headers })
}

const REFUSALS = ['unauthenticated', 'permission_denied', 'session_required', 'not_found']

/** Ids in these requests exist nowhere: a caller who is let in gets another error, or none. */
function isRefused({ status, headers }: ApiResponse): boolean {
  return status >= 400 && REFUSALS.includes(headers.get('x-error-code') ?? '')
}

/** `permissions` checks the reads for each role and permission: here, only `npm run torture` does. */
const triedOperations = pickSize(operations.filter(isWrite), operations)

describe('the server lets in exactly the callers of the graph', () => {
  test.each(pickInTurn(triedOperations))('$name', async operation => {
    const letIn = await Promise.all(
      CALLERS.map(async caller => {
        const response = await send(operation, caller)
        expect(response.status, response.text).toBeLessThan(500)
        return isRefused(response) ? [] : [nameOf(caller)]
      }),
    )
    const allowed = CALLERS.filter(caller => mayCall(operation, caller))
    expect(letIn.flat()).toEqual(allowed.map(nameOf))
  })
})

type Send = (path: string, body?: object) => Promise<ApiResponse>
/** Calls an operation with real ids. Returns whether the caller got what the choice names. */
type Execution = (send: Send, choice: string) => Promise<boolean>

const ENDPOINTS = '/webhooks/endpoints'
const URL = 'http://127.0.0.1:1025/hook'
const accountId = () => world.merchant.id

async function makeEndpoint(): Promise<string> {
  const key = { accountId: accountId(), mode: 'test', id: newId() }
  const data = {
    ...key,
    url: URL,
    host: '127.0.0.1',
    eventTypes: ['transaction.paid'],
    fullDocuments: true,
  }
  return (await db().webhookEndpoint.create({ data })).id
}

async function addMember(): Promise<{ accountId: string; userId: string }> {
  const userId = (await readSession(await signIn(world.merchant, 'viewer')))?.id ?? ''
  return { accountId: accountId(), userId }
}

/** Returns a delivery whose only attempt sent the document in full. */
async function makeDelivery(): Promise<string> {
  const subjectId = await createPaidCharge(world.merchant, URL)
  const where = { accountId: accountId(), subjectId, endpointId: null }
  const { id: deliveryId } = await db().delivery.findFirstOrThrow({ where })
  const requestBody = JSON.stringify({ transaction: { client_doc: CANARY.formattedDocument } })
  const attempt = { number: 1, requestHeaders: {}, requestBody, durationMs: 1 }
  await db().deliveryAttempt.create({ data: { accountId: accountId(), deliveryId, ...attempt } })
  return deliveryId
}

const END_PATH = '/admin/orders/[id]/end'
const PROPOSAL = { outcome: 'sent', reason: 'The bank said so by phone' }
const pathOfEnd = (id: string) => `/admin/orders/${id}/end`

/** An account whose bank never answers. */
let silent: Account
async function makeSilentWithdrawal() {
  silent ??= await makeSilentMerchant()
  return withdrawInSilence(silent)
}

const EXECUTIONS: Record<string, Execution> = {
  async 'POST /withdrawals'(send) {
    const body = { amount: 1_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
    return (await send('/withdrawals', body)).status === 200
  },
  async 'POST /dashboard/withdrawals/[id]/approve'(send) {
    const key = { pixKeyType: 'email', pixKey: 'hold@example.com', dictKey: 'hold@example.com' }
    const order = { amount: 1_000, ...key } as WithdrawalTerms
    const { id } = await createWithdrawal(accountId(), 'test', order)
    const { approvalDueAt } = await db().withdrawal.findFirstOrThrow({ where: { id } })
    if (!approvalDueAt) await letWait(id)
    return (await send(`/dashboard/withdrawals/${id}/approve`)).status === 200
  },
  async 'POST /transactions/[id]/refunds'(send) {
    return (await send(`/transactions/${world.paid}/refunds`, { amount: 1 })).status === 200
  },
  async 'POST /dashboard/charges/[id]/document'(send) {
    const { text } = await send(`/dashboard/charges/${world.paid}/document`)
    return text.includes(CANARY.formattedDocument)
  },
  async 'POST /dashboard/webhooks/deliveries/[id]/document'(send) {
    const { text } = await send(`/dashboard/webhooks/deliveries/${await makeDelivery()}/document`)
    return text.includes(CANARY.formattedDocument)
  },
  async 'POST /admin/accounts/[id]/charges/[charge_id]/document'(send) {
    const path = `/admin/accounts/${accountId()}/charges/${world.paid}/document`
    const { text } = await send(path, { reason: 'A request of the payer' })
    return text.includes(CANARY.formattedDocument)
  },
  async [`POST ${END_PATH}`](send) {
    const { id } = await makeSilentWithdrawal()
    const { body } = await send(pathOfEnd(id), PROPOSAL)
    return body.data?.outcome === 'sent'
  },
  // Each `send` is another admin; here, the same one proposes and confirms.
  async [`POST ${END_PATH}/confirm`](_send, choice) {
    const { id } = await makeSilentWithdrawal()
    const [other, admin] = [await signInAdmin(), await signInAdmin()]
    const sendAs = (secret: string, path: string, body: object) =>
      call(api.url, 'POST', path, { headers: personHeaders(secret), body })
    const proposer = choice === 'own proposal' ? admin : other
    const { data } = (await sendAs(proposer, pathOfEnd(id), PROPOSAL)).body
    await sendAs(admin, `${pathOfEnd(id)}/confirm`, { id: data?.proposal.id })
    return (await db().withdrawal.findFirst({ where: { id } }))?.status === 'approved'
  },
  async 'POST /tokens'(send, choice) {
    const { body } = await send('/tokens', { name: 'x', permissions: [choice] })
    return body.data?.permissions.includes(choice) ?? false
  },
  async 'POST /tokens/[id]/rotate'(send, choice) {
    const old = { accountId: accountId(), mode: 'test' as const, name: 'x' }
    const permissions = [choice as Permission]
    const { id } = await issueToken({ ...old, permissions }, { type: 'command_line' })
    const { body } = await send(`/tokens/${id}/rotate`, { overlap_hours: 0 })
    return typeof body.data?.token === 'string' && body.data.permissions.includes(choice)
  },
  async 'POST /webhooks/endpoints'(send, choice) {
    // The limit of endpoints is not the subject here.
    const where = { accountId: accountId() }
    await db().webhookEndpoint.updateMany({ where, data: { deletedAt: new Date() } })
    const body = { url: URL, event_types: '*', full_documents: choice === 'full' }
    const { data } = (await send(ENDPOINTS, body)).body
    return data?.full_documents === (choice === 'full')
  },
  async 'PATCH /webhooks/endpoints/[id]'(send, choice) {
    const body = { url: `${URL}/moved`, full_documents: choice === 'full' }
    const { data } = (await send(`${ENDPOINTS}/${await makeEndpoint()}`, body)).body
    return data?.full_documents === (choice === 'full')
  },
  async 'POST /transactions'(send, choice) {
    const { data } = (await send('/transactions', { ...CHARGE, webhook_url: URL })).body
    const where = { accountId: accountId(), id: data.transaction_id }
    const { webhookMasked } = await db().charge.findFirstOrThrow({ where })
    return choice === 'masked' || !webhookMasked
  },
  async 'POST /dashboard/invitations'(send, role) {
    const email = `${newId()}@example.com`
    await send('/dashboard/invitations', { email, role })
    return (
      (await db().invitation.findFirst({ where: { accountId: accountId(), email } }))?.role === role
    )
  },
  async 'PATCH /dashboard/members/[id]'(send, role) {
    const where = await addMember()
    await send(`/dashboard/members/${where.userId}`, { role })
    return (await db().membership.findFirst({ where }))?.role === role
  },
  async 'DELETE /dashboard/members/[id]'(send) {
    const where = await addMember()
    await send(`/dashboard/members/${where.userId}`)
    return (await db().membership.count({ where })) === 0
  },
}

/** Permissions that only together reach something. */
const PAIRS = [token('transactions:write', 'payers:read'), token('webhooks:write', 'payers:read')]

/** Every call that the graph lets in, with each choice; joining needs a link and has its own tests. */
const edges = operations
  .filter(({ effect = 'none' }) => effect !== 'none' && effect !== 'joining')
  .flatMap(operation =>
    [...CALLERS, ...PAIRS]
      .filter(caller => mayCall(operation, caller))
      .flatMap(caller =>
        choicesOf(operation).map(choice => {
          const name = [nameOf(caller), operation.name, choice].filter(Boolean).join(', ')
          return { name, operation, caller, choice }
        }),
      ),
  )

describe('the server grants exactly what the graph grants', () => {
  test.each(pickInTurn(edges))('$name', async ({ operation, caller, choice }) => {
    const execute = EXECUTIONS[operation.name]
    expect(execute, `write an execution of ${operation.name}`).toBeDefined()
    const sendAs: Send = (path, body) => send(operation, caller, path, body)
    const granted = await execute?.(sendAs, choice ?? '')
    expect(granted).toBe(isGranted(operation, caller, choice))
  })

  const reads = operations.filter(
    one =>
      one.returnsDocuments &&
      one.method === 'GET' &&
      one.allow.some(isPermission) &&
      // e2e/api/withdrawals-owner.test.ts tests those with the document of a receiver only.
      !one.path.startsWith('/withdrawals'),
  )
  test.each(reads)('$name returns a document only for payers:read', async operation => {
    const path = operation.path.replace('[id]', world.paid)
    const allowed = operation.allow.filter(isPermission)
    for (const permission of allowed)
      for (const permissions of [[permission], [permission, 'payers:read' as const]]) {
        const { text } = await send(operation, token(...permissions), path)
        expect(text.includes(CANARY.formattedDocument)).toBe(permissions.length === 2)
      }
  })
})
