import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { setApprovalRule } from '#lib/accounts/set-approval.ts'
import { registerAdapter } from '#lib/banks/adapters.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { simulator } from '#lib/banks/simulator.ts'
import { describeCharge } from '#lib/charges/describe.ts'
import { cancelOpening, undoOpening } from '#lib/charges/end-opening.ts'
import { indexCharges, indexLateCharges } from '#lib/charges/index-charges.ts'
import type { NewCharge } from '#lib/charges/insert.ts'
import { openAtBank } from '#lib/charges/open.ts'
import { summarizeCharges } from '#lib/charges/summarize.ts'
import { totalCharges } from '#lib/charges/total.ts'
import { queryAndEnd } from '#lib/charges/verify.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { withLease } from '#lib/db/claim.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection, assignConnection } from '#lib/testing/connection.ts'
import {
  CHARGE,
  fundMerchant,
  inOwnDatabase,
  makeIdempotentRequest,
  makeMerchant,
  makeToken,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { signIn } from '#lib/testing/member.ts'
import { expireDueCharges, letWait } from '#lib/testing/orders.ts'
import { type Calls, formatCalls, recordCalls } from '#lib/testing/statements.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { findRememberedCaller } from '#lib/tokens/recall.ts'
import { revokeOwnToken } from '#lib/tokens/revoke.ts'
import { revokeAccountTokens } from '#lib/tokens/revoke-as-operator.ts'
import { rotateToken } from '#lib/tokens/rotate.ts'
import { verifyToken } from '#lib/tokens/verify.ts'
import { approveRequest } from '#lib/withdrawals/approve.ts'
import { insertWithdrawal } from '#lib/withdrawals/insert.ts'
import { mailApprovers } from '#lib/withdrawals/mail-approvers.ts'

inOwnDatabase()

const ACTOR = { type: 'system' } as const
const bank = Object.assign(new StubBank(), { queryAgesMs: [60_000] })
const silentBank = Object.assign(new StubBank(), {
  getCharges: async () => ({ outcome: 'unknown', reason: 'down' }) as const,
})

let merchant: Account
let connectionId: string
let described: string
let token: string
let tokenId: string
beforeAll(async () => {
  connectionId = await addConnection(bank)
})
beforeEach(async () => {
  merchant = await makeMerchant()
  await assignConnection(connectionId, merchant)
})

const queryDue = (gateway: StubBank) => withLease('charges', 10, due => queryAndEnd(gateway, due))
const scope = () => ({ accountId: merchant.id, mode: 'test' }) as const
const atSimulator = () => ({ ...scope(), connectionId: SIMULATOR_CONNECTION_ID })
const once = () => makeIdempotentRequest(merchant.id)

function newCharge(request?: NewCharge['once']): NewCharge {
  const id = request?.id ?? newId()
  const { amount, client_name, client_email, client_doc } = CHARGE
  const payer = { payerName: client_name, payerEmail: client_email, payerDoc: client_doc }
  const { name: merchantName, city: merchantCity, expiresIn: expiresInSeconds } = merchant
  const receiver = { merchantName, merchantCity, expiresInSeconds }
  const order = { txid: removeHyphens(id), amount, ...receiver, ...payer }
  const charge = { ...atSimulator(), account: merchant.id, id, request: CHARGE, ip: null }
  return { ...charge, order, once: request }
}

async function makeChargeDue(): Promise<void> {
  // The claims of a bank would be sent at the same time.
  registerAdapter('efi', () => null)
  await db().$executeRaw`UPDATE charges SET due_at = NULL`
  const { id } = await openCharge(merchant)
  const past = new Date(Date.now() - 1_000)
  await db().charge.updateMany({ where: { id }, data: { dueAt: past, expiresAt: past } })
}

async function makeTokenWithId(): Promise<void> {
  tokenId = (await issueToken({ ...scope(), name: 'a', permissions: [] }, ACTOR)).id
}

let waiting: { id: string; by: string }

async function makeWaitingWithdrawal(): Promise<void> {
  await fundMerchant(merchant, 1_000)
  const key = { pixKeyType: 'email', pixKey: 'a@example.com', dictKey: 'a@example.com' } as const
  const { id } = await insertWithdrawal(merchant.id, 'test', { amount: 1_000, ...key })
  await letWait(id)
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: merchant.id } })
  waiting = { id, by: userId }
}

let member: { type: 'user'; id: string }

/** Two owners, and a rule that a withdrawal to a new key is approved. */
const NO_AMOUNTS = { above: null, day_above: null }

async function requireApproval(): Promise<void> {
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: merchant.id } })
  await signIn(merchant, 'owner')
  member = { type: 'user', id: userId }
  await setApprovalRule(merchant.id, { new_keys: true, ...NO_AMOUNTS }, member)
}

const ALL_FILTERS = {
  status: 'paid',
  external_id: 'order-1',
  created_from: '2026-01-01T00:00:00Z',
  created_to: '2026-02-01T00:00:00Z',
  min_amount: 1,
  max_amount: 2,
} as const

const VERBS: Record<string, Calls> = {
  'accounts/set-approval': {
    'a weaker rule, which waits for another owner': [
      requireApproval,
      () => setApprovalRule(merchant.id, { new_keys: false, ...NO_AMOUNTS }, member),
    ],
  },
  'withdrawals/approve': {
    'a withdrawal that waits for approval': [
      makeWaitingWithdrawal,
      () => approveRequest({ ...scope(), ...waiting }),
    ],
  },
  'withdrawals/mail-approvers': {
    'a withdrawal that nobody was mailed about': [makeWaitingWithdrawal, () => mailApprovers()],
  },
  'charges/open': {
    'a charge at a bank': () => openAtBank(bank, newCharge()),
    'a charge at a bank, with an Idempotency-Key': () => openAtBank(bank, newCharge(once())),
  },
  'charges/end-opening': {
    'an opening that was not finished': () => {
      const state = { status: 'opening', lease: newId(), attempts: 1 }
      return cancelOpening(simulator, { ...atSimulator(), id: newId(), ...state })
    },
    'an opening that the bank refused, with an Idempotency-Key': () =>
      undoOpening(newCharge(once()), false, false),
    'an opening that the bank may have, with an Idempotency-Key': () =>
      undoOpening(newCharge(once()), true, true),
  },
  'charges/expire': {
    'due charges at the simulator': [makeChargeDue, () => expireDueCharges()],
  },
  'charges/verify': {
    'due charges that are open at the bank': [makeChargeDue, () => queryDue(bank)],
    'due charges, while the bank is down': [makeChargeDue, () => queryDue(silentBank)],
  },
  'charges/index-charges': {
    'new charges': () => indexCharges(),
    'charges behind the mark': () => indexLateCharges(),
  },
  'charges/describe': {
    'a pending charge': [
      async () => {
        described = (await openCharge(merchant)).id
      },
      () => describeCharge(merchant.id, 'test', described, 'x'),
    ],
  },
  'charges/total': {
    'charges that match all filters, for a remembered token': [
      async () => {
        token = await makeToken(merchant.id)
        await verifyToken(token)
      },
      () => {
        const { proof } = findRememberedCaller(token) ?? expect.unreachable()
        return totalCharges({ id: merchant.id, proof }, 'test', ALL_FILTERS)
      },
    ],
    'charges that a search finds': () => totalCharges(merchant.id, 'test', { q: 'ana' }),
  },
  'charges/summarize': {
    'charges since a time': () => summarizeCharges(merchant.id, 'test', new Date(0)),
  },
  'tokens/verify': {
    'a token whose last use was over a minute ago': [
      async () => {
        token = await makeToken(merchant.id)
      },
      () => verifyToken(token),
    ],
  },
  'tokens/issue': {
    'a token, with an Idempotency-Key': () =>
      issueToken({ ...scope(), name: 'a', permissions: [] }, ACTOR, once()),
  },
  'tokens/rotate': {
    'a token, with an Idempotency-Key': [
      makeTokenWithId,
      () => rotateToken({ ...scope(), id: tokenId, overlapHours: 24 }, ACTOR, once()),
    ],
  },
  'tokens/revoke': {
    'a token': [
      makeTokenWithId,
      () => revokeOwnToken({ ...scope(), id: tokenId }, 'Leaked', ACTOR),
    ],
  },
  'tokens/revoke-as-operator': {
    'the active tokens of an account': [
      makeTokenWithId,
      () => revokeAccountTokens(merchant.id, 'Leaked', ACTOR),
    ],
  },
}

test.each(Object.keys(VERBS))('lib/%s.sql is the SQL that the verb sends', async verb => {
  const recorded = await recordCalls(VERBS[verb] ?? {})
  await expect(formatCalls(recorded)).toMatchFileSnapshot(`../${verb}.sql`)
})
