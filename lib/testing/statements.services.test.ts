import { beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createAuditNote } from '#lib/audit/note.ts'
import { withJournal } from '#lib/banks/journal.ts'
import { claimNotices, storeNotices } from '#lib/banks/notices.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/ledger/accounts.ts'
import { findStatementRange } from '#lib/ledger/statement.ts'
import { verifyLedger } from '#lib/ledger/verify.ts'
import { listDevices } from '#lib/people/devices.ts'
import { countStaff, listFactors } from '#lib/people/factors.ts'
import { endSession, openSession, recordProof } from '#lib/people/sessions.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { createPaidCharge } from '#lib/testing/deliveries.ts'
import {
  inOwnDatabase,
  makeIdempotentRequest,
  makeMerchant,
  makeToken,
} from '#lib/testing/fixtures.ts'
import { type Calls, formatCalls, recordCalls } from '#lib/testing/statements.ts'
import { findRememberedCaller } from '#lib/tokens/recall.ts'
import { verifyToken } from '#lib/tokens/verify.ts'
import { claimDueDeliveries, type DueDelivery } from '#lib/webhooks/claim-deliveries.ts'
import { countMissed, enableEndpoint, pauseEndpoint } from '#lib/webhooks/enable.ts'
import { createEndpoint, deleteEndpoint, editEndpoint } from '#lib/webhooks/endpoints.ts'
import { finishDelivery } from '#lib/webhooks/finish.ts'
import { healLanes } from '#lib/webhooks/heal-lanes.ts'
import type { Owner } from '#lib/webhooks/owner.ts'
import {
  countFailed,
  type FailedDeliveriesFilter,
  resendDelivery,
  resendFailed,
} from '#lib/webhooks/resend.ts'
import type { EndpointRequest } from '#lib/webhooks/schema.ts'
import { rotateSecret, showSecret } from '#lib/webhooks/secrets.ts'

inOwnDatabase()

const ENDPOINT: EndpointRequest = {
  url: 'https://shop.example/hook',
  event_types: ['transaction.paid'],
}
const GONE = { status: 410, problem: { code: 'status', params: { status: 410 } } } as const
const OUTCOME = { ...GONE, headers: {}, body: '', address: null, durationMs: 1, retryAfterMs: null }

let merchant: Account
let owner: Owner
let endpointId: string
let due: DueDelivery
let userId: string
let token: string
beforeEach(async () => {
  merchant = await makeMerchant()
  userId = newId()
  const email = `member-${userId}@troco.example`
  await db().user.create({ data: { id: userId, email, name: email } })
  owner = { accountId: merchant.id, mode: 'test', note: createAuditNote(merchant.id, userId) }
  endpointId = await createEndpoint(owner, ENDPOINT)
})

const once = () => makeIdempotentRequest(merchant.id)
const failed = (): FailedDeliveriesFilter => ({
  endpoint_id: endpointId,
  subject_ids: [newId()],
  type: 'transaction.*',
  status: 'exhausted',
  from: '2026-01-01T00:00:00Z',
})

async function claimDelivery(): Promise<void> {
  await db().$executeRaw`UPDATE deliveries SET due_at = NULL`
  await createPaidCharge(merchant)
  ;[due = expect.unreachable()] = (await claimDueDeliveries(1)).claimed
}

const VERBS: Record<string, Calls> = {
  'banks/journal': {
    'a call to a bank': () => {
      const scope = { accountId: merchant.id, mode: 'test' } as const
      const subject = { ...scope, id: newId(), connectionId: SIMULATOR_CONNECTION_ID }
      return withJournal(new StubBank(), [subject]).getPayout({
        ...{ id: removeHyphens(subject.id), amount: 1_000, dictKey: 'a@b.co' },
      })
    },
  },
  'banks/notices': {
    'what a bank gave notice of': () =>
      storeNotices(SIMULATOR_CONNECTION_ID, [{ kind: 'payment', id: removeHyphens(newId()) }]),
    'notices that are due': () => claimNotices(),
  },
  'ledger/accounts': {
    'balances, for a remembered token': [
      async () => {
        token = await makeToken(merchant.id)
        await verifyToken(token)
      },
      () => {
        const { proof } = findRememberedCaller(token) ?? expect.unreachable()
        return readBalances({ id: merchant.id, proof }, 'test')
      },
    ],
  },
  'ledger/statement': {
    'the bounds of a period': () => findStatementRange(merchant.id, 'test', {}),
  },
  'ledger/verify': {
    'the ledger of an account': () => verifyLedger(db(), merchant.id),
  },
  'people/sessions': {
    'a new session': () => openSession(userId, { ip: null, userAgent: null }),
    'the end of a session': () => endSession('a-secret'),
    'a proof of identity': () => recordProof(newId()),
  },
  'people/devices': {
    'the active sessions of a user': () => listDevices({ id: userId, sessionId: newId() }),
  },
  'people/factors': {
    'admins, and those without a second factor': () => countStaff(),
    'the second factors of a user': () => listFactors(userId),
  },
  'webhooks/finish': {
    'an attempt at an endpoint that is gone': [
      claimDelivery,
      () => finishDelivery({ due, sent: { headers: {}, body: '{}' }, outcome: OUTCOME }),
    ],
  },
  'webhooks/resend': {
    'a pending delivery': [
      () => claimDelivery().then(() => db().$executeRaw`UPDATE deliveries SET lease = NULL`),
      () => resendDelivery(owner, due.id),
    ],
    'an exhausted delivery': [
      () => db().$executeRaw`UPDATE deliveries SET status = 'exhausted', due_at = NULL`,
      () => resendDelivery(owner, due.id),
    ],
    'failed deliveries that match all filters': () => resendFailed(owner, failed()),
    'failed deliveries, counted': () => countFailed(merchant.id, 'test', failed()),
  },
  'webhooks/enable': {
    'an endpoint, disabled': () => pauseEndpoint(owner, endpointId),
    'an endpoint, enabled without the missed deliveries': () =>
      enableEndpoint(owner, endpointId, false),
    'an endpoint, enabled with the missed deliveries': [
      async () => {
        await pauseEndpoint(owner, endpointId)
        await db().webhookEndpoint.updateMany({ data: { failingSince: new Date(0) } })
      },
      () => enableEndpoint(owner, endpointId, true),
    ],
    'the missed deliveries, counted': () => countMissed(merchant.id, 'test', endpointId),
  },
  'webhooks/heal-lanes': {
    'a lane that was lost': [
      () => createPaidCharge(merchant).then(() => db().deliveryLane.deleteMany()),
      () => healLanes(),
    ],
  },
  'webhooks/endpoints': {
    'a new endpoint, with an Idempotency-Key': () => createEndpoint(owner, ENDPOINT, once()),
    'another URL': () => editEndpoint(owner, endpointId, { url: 'https://other.example/' }),
    'a deleted endpoint, with a pending delivery': [
      () => createPaidCharge(merchant),
      () => deleteEndpoint(owner, endpointId),
    ],
  },
  'webhooks/secrets': {
    'a new secret, with an Idempotency-Key': () => rotateSecret(owner, null, once()),
    'the current secret': () => showSecret(owner),
  },
}

test.each(Object.keys(VERBS))('lib/%s.sql is the SQL that the verb sends', async verb => {
  const recorded = await recordCalls(VERBS[verb] ?? {})
  await expect(formatCalls(recorded)).toMatchFileSnapshot(`../${verb}.sql`)
})
