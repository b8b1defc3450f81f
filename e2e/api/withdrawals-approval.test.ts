import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { openDispute } from '#lib/charges/disputes/dispute.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import { db } from '#lib/db/client.ts'
import { openSession } from '#lib/people/sessions.ts'
import { readSession } from '#lib/session/read.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { addConnection } from '#lib/testing/connection.ts'
import {
  type Api,
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { findMailedLink } from '#lib/testing/mailbox.ts'
import { pageHeaders, personHeaders, refusal, signIn, signInAdmin } from '#lib/testing/member.ts'
import { makeOrdersDue, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { adoptToken, rotateToken } from '#lib/tokens/change.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { expireWaitingWithdrawals } from '#lib/withdrawals/approval.ts'

inOwnDatabase()

const FUNDS = 100_000
const BY_OTHER = [403, expect.stringContaining('Somebody else must approve'), 'approval_by_other']
const ENDED = [409, expect.stringContaining('no longer waits'), 'approval_ended']
const DAYS_AGO = new Date(Date.now() - 10 * 86_400_000)

let api: Api
let merchant: Account
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

interface Member {
  id: string
  headers: Record<string, string>
}
let owner: Member
let finance: Member

/** Signs in a new member of the role, who joined with an account of long ago. */
async function addMember(role: Role): Promise<Member> {
  const secret = await signIn(merchant, role)
  const id = (await readSession(secret))?.id ?? ''
  return { id, headers: pageHeaders(secret, merchant.id) }
}

/** Makes the account, and who is a member by now, ten days old. */
async function age(): Promise<void> {
  await db().account.update({ where: { id: merchant.id }, data: { createdAt: DAYS_AGO } })
  const data = { createdAt: DAYS_AGO, roleAt: null }
  await db().membership.updateMany({ where: { accountId: merchant.id }, data })
}

beforeEach(async () => {
  merchant = await makeMerchant()
  await db().membership.deleteMany({ where: { accountId: merchant.id } })
  owner = await addMember('owner')
  finance = await addMember('finance')
  await age()
  await fundMerchant(merchant, FUNDS)
})

const order = (amount = 2_000) => ({ amount, pix_key: `key-${newId()}@example.com` })

async function request(headers: Record<string, string>, body: object = order()) {
  const response = await call(api.url, 'POST', '/withdrawals', { headers, body })
  expect(response.status, response.text).toBe(200)
  return response.body.data.id as string
}

const decide = (what: 'approve' | 'decline', id: string, { headers }: Member) =>
  call(api.url, 'POST', `/dashboard/withdrawals/${id}/${what}`, { headers })
const approve = (id: string, member: Member) => decide('approve', id, member)
const setRule = ({ headers }: Member, body: object) =>
  call(api.url, 'PATCH', '/dashboard/account/approval', { headers, body })
const readRule = async ({ headers }: Member) =>
  (await call(api.url, 'GET', '/dashboard/account/approval', { headers })).body.data

const stored = (id: string) =>
  db().withdrawal.findUniqueOrThrow({ where: { accountId_id: { accountId: merchant.id, id } } })
const isWaiting = async (id: string) => (await stored(id)).approvalDueAt !== null

async function expireNow(id: string): Promise<void> {
  await db().$executeRaw`
    UPDATE withdrawals SET approval_due_at = now() - interval '1 second' WHERE id = ${id}::uuid`
}

const actionsOn = async (target: string) =>
  (await db().auditRecord.findMany({ where: { target }, orderBy: { id: 'asc' } })).map(
    ({ action, actorType }) => `${action} ${actorType}`,
  )
const eventsOf = async (subjectId: string) =>
  (await db().event.findMany({ where: { subjectId } })).map(({ type }) => type)

async function expectMoney(available: number, outbound: number): Promise<void> {
  expect(await readBalances(merchant.id, 'test')).toEqual({ available, outbound })
  await expectBalancedLedger(merchant.id)
}

describe('a withdrawal to a new key', () => {
  test('is answered as any other, holds the money and is not sent', async () => {
    const body = order()
    const response = await call(api.url, 'POST', '/withdrawals', { headers: owner.headers, body })
    expect(Object.keys(response.body)).toEqual(['message', 'data'])
    expect(response.body.data).toMatchObject({ status: 'pending', pix_key: body.pix_key })
    const { id } = response.body.data
    await sendDueWithdrawals()
    expect(await db().simulatorOrder.count({ where: { id: removeHyphens(id) } })).toBe(0)
    await expectMoney(FUNDS - 2_000, 2_000)
    const read = await call(api.url, 'GET', `/withdrawals/${id}`, { headers: owner.headers })
    expect(read.body.data).toMatchObject({ status: 'pending', awaiting: 'approval' })
    expect(await actionsOn(id)).toEqual([
      'withdrawal.approval_requested user',
      'withdrawal.requested user',
    ])
  })

  test('is sent after a second member approves it, and its key is known from then on', async () => {
    const body = order()
    const id = await request(owner.headers, body)
    expect((await approve(id, finance)).status).toBe(200)
    await sendDueWithdrawals()
    await db().simulatorOrder.update({
      where: { id: removeHyphens(id) },
      data: { settlesAt: new Date(0) },
    })
    await makeOrdersDue({ id })
    await sendDueWithdrawals()
    expect((await stored(id)).status).toBe('approved')
    await expectMoney(FUNDS - 2_000, 0)
    expect(await isWaiting(await request(owner.headers, body))).toBe(false)
    expect(await isWaiting(await request(owner.headers))).toBe(true)
    expect(await actionsOn(id)).toContain('withdrawal.approved user')
  })

  test('is declined: the amount returns, with a code, an event and a record', async () => {
    const id = await request(owner.headers)
    const { body } = await decide('decline', id, finance)
    expect(body.data).toMatchObject({
      status: 'rejected',
      rejection_reason: 'Declined by a member of the account',
    })
    expect((await stored(id)).rejectionCode).toBe('approval_declined')
    expect(await eventsOf(id)).toEqual(['withdrawal.rejected'])
    expect(await actionsOn(id)).toContain('withdrawal.declined user')
    await expectMoney(FUNDS, 0)
    expect(refusal(await approve(id, finance))).toEqual(ENDED)
  })

  test('expires: the amount returns, with a code, an event and a record', async () => {
    const id = await request(owner.headers)
    await expireNow(id)
    expect(refusal(await approve(id, finance))).toEqual(ENDED)
    expect(await expireWaitingWithdrawals()).toBe(1)
    expect(await expireWaitingWithdrawals()).toBe(0)
    const row = await stored(id)
    expect([row.status, row.rejectionCode]).toEqual(['rejected', 'approval_expired'])
    expect(row.rejectionReason).toBe('Not approved by a second member in time')
    expect(await eventsOf(id)).toEqual(['withdrawal.rejected'])
    expect(await actionsOn(id)).toContain('withdrawal.approval_expired system')
    await expectMoney(FUNDS, 0)
  })

  test('is not decided at the simulated bank while it waits', async () => {
    const id = await request(owner.headers)
    const token = await makeToken(merchant.id)
    const body = { outcome: 'approved' }
    const response = await call(api.url, 'POST', `/sandbox/withdrawals/${id}`, { token, body })
    expect([response.status, response.headers.get('x-error-code')]).toEqual([
      409,
      'approval_pending',
    ])
    await expect(
      db().$executeRaw`UPDATE bank_orders SET due_at = now() WHERE id = ${id}::uuid`,
    ).rejects.toThrow('bank_orders_due')
    await expectMoney(FUNDS - 2_000, 2_000)
  })

  test('waits although the key was requested before, or paid in the other mode', async () => {
    const body = order()
    const id = await request(owner.headers, body)
    const paid = { status: 'approved', approvedAt: new Date() }
    const { accountId, amount, pixKeyType, pixKey, dictKey } = await stored(id)
    const key = { pixKeyType, pixKey, dictKey, endToEndId: `E${newId().slice(0, 31)}` }
    const place = { accountId, mode: 'live', connectionId: await addConnection(new StubBank()) }
    const row = { ...place, id: newId(), amount, ...key, ...paid }
    await db().withdrawal.create({ data: row })
    expect(await isWaiting(await request(owner.headers, body))).toBe(true)
    await db().withdrawal.delete({ where: { accountId_id: { accountId, id: row.id } } })
  })
})

test('is refused while less is held than a payer disputes', async () => {
  const id = await request(owner.headers)
  const { endToEndId, connectionId } = await db().charge.findFirstOrThrow({
    where: { accountId: merchant.id, status: 'paid' },
  })
  const report = { connectionId, bankId: newId(), endToEndId: endToEndId ?? '', amount: FUNDS }
  expect(await openDispute(report)).toMatchObject({ status: 'open' })
  const refused = await approve(id, finance)
  expect([refused.status, refused.headers.get('x-error-code')]).toEqual([
    422,
    'dispute_not_covered',
  ])
  expect(await isWaiting(id)).toBe(true)
  expect(await actionsOn(id)).not.toContain('withdrawal.approved user')
  await fundMerchant(merchant, 2_000)
  expect((await approve(id, finance)).status).toBe(200)
})

describe('who may approve', () => {
  test('the requester may not', async () => {
    const id = await request(owner.headers)
    expect(refusal(await approve(id, owner))).toEqual(BY_OTHER)
    expect(await isWaiting(id)).toBe(true)
  })

  test.each(['developer', 'viewer'] as const)('a %s may not', async role => {
    const id = await request(owner.headers)
    const member = await addMember(role)
    for (const what of ['approve', 'decline'] as const)
      expect((await decide(what, id, member)).headers.get('x-error-code')).toBe('permission_denied')
    expect(await isWaiting(id)).toBe(true)
  })

  test('an API token may not', async () => {
    const id = await request(owner.headers)
    const token = await makeToken(merchant.id)
    const path = `/dashboard/withdrawals/${id}/approve`
    const { headers } = await call(api.url, 'POST', path, { token })
    expect(headers.get('x-error-code')).toBe('session_required')
  })

  test('a member of another account may not, nor does it exist for them', async () => {
    const id = await request(owner.headers)
    const other = await makeMerchant()
    const secret = await signIn(other, 'owner')
    const stranger = { id: '', headers: pageHeaders(secret, other.id) }
    expect((await approve(id, stranger)).status).toBe(404)
    const inLive = { ...finance.headers, 'troco-mode': 'live' }
    expect([403, 404]).toContain((await approve(id, { id: '', headers: inLive })).status)
    expect(await isWaiting(id)).toBe(true)
  })

  test('the issuer of the requesting token may not, another member may', async () => {
    const options = { accountId: merchant.id, mode: 'test', name: 'Loja' } as const
    const actor = { type: 'user', id: owner.id } as const
    const { token } = await issueToken({ ...options, permissions: ['withdrawals:write'] }, actor)
    const ids = []
    for (const _ of [1, 2]) {
      const { body } = await call(api.url, 'POST', '/withdrawals', { token, body: order() })
      ids.push(body.data.id)
    }
    for (const id of ids) {
      expect(await actionsOn(id)).toEqual(['withdrawal.approval_requested system'])
      expect(refusal(await approve(id, owner))).toEqual(BY_OTHER)
      expect((await approve(id, finance)).status).toBe(200)
    }
  })

  test('a former issuer of the requesting token may not, however often it was confirmed', async () => {
    const first = await addMember('owner')
    const second = await addMember('owner')
    await age()
    const scope = { accountId: merchant.id, mode: 'test' } as const
    const actor = { type: 'user', id: first.id } as const
    const permissions = ['withdrawals:write'] as const
    const issued = await issueToken(
      { ...scope, name: 'Loja', permissions: [...permissions] },
      actor,
    )
    const withdraw = async (token = issued.token) =>
      (await call(api.url, 'POST', '/withdrawals', { token, body: order() })).body.data.id
    for (const confirmer of [second, owner]) {
      await withdraw()
      await adoptToken({ ...scope, id: issued.id }, { type: 'user', id: confirmer.id })
      const requested = await withdraw()
      expect(refusal(await approve(requested, first))).toEqual(BY_OTHER)
      expect(refusal(await approve(requested, confirmer))).toEqual(BY_OTHER)
      expect((await approve(requested, finance)).status).toBe(200)
    }
    expect(refusal(await approve(await withdraw(), second))).toEqual(BY_OTHER)
    const rotation = { ...scope, id: issued.id, overlapHours: 1 }
    const successor = await rotateToken(rotation, { type: 'user', id: owner.id })
    expect((await approve(await withdraw(successor.token), first)).status).toBe(200)
    expect(refusal(await approve(await withdraw(), first))).toEqual(BY_OTHER)
  })

  test("for a token of the operator's, any eligible member may", async () => {
    const token = await makeToken(merchant.id)
    const { body } = await call(api.url, 'POST', '/withdrawals', { token, body: order() })
    expect((await approve(body.data.id, owner)).status).toBe(200)
  })

  test('a member demoted or disabled meanwhile may not; then it expires', async () => {
    const id = await request(owner.headers)
    await db().user.update({ where: { id: finance.id }, data: { disabledAt: new Date() } })
    expect((await approve(id, finance)).status).toBe(401)
    await expireNow(id)
    expect(await expireWaitingWithdrawals()).toBe(1)
    await expectMoney(FUNDS, 0)
  })
})

describe('at the same moment', () => {
  const ROUNDS = 6

  test('two approvals are one, and both are answered', async () => {
    const third = await addMember('finance')
    await age()
    for (let round = 0; round < ROUNDS; round++) {
      const id = await request(owner.headers)
      const responses = await Promise.all([finance, third, finance].map(one => approve(id, one)))
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
      expect((await actionsOn(id)).filter(name => name.includes('.approved'))).toHaveLength(1)
    }
    await expectMoney(FUNDS - ROUNDS * 2_000, ROUNDS * 2_000)
  })

  test('of approval, refusal and expiry exactly one takes effect', async () => {
    let released = 0
    for (let round = 0; round < ROUNDS; round++) {
      const id = await request(owner.headers)
      await db().$executeRaw`
        UPDATE withdrawals SET approval_due_at = clock_timestamp() + interval '15 milliseconds'
        WHERE id = ${id}::uuid`
      const [approval, refusal] = await Promise.all([
        approve(id, finance),
        decide('decline', id, owner),
        expireWaitingWithdrawals(),
      ])
      await new Promise(resolve => setTimeout(resolve, 20))
      await expireWaitingWithdrawals()
      const row = await stored(id)
      expect(row.approvalDueAt).toBeNull()
      const wasApproved = row.status === 'pending'
      if (wasApproved) released += 1
      expect(approval?.status === 200).toBe(wasApproved)
      expect(refusal?.status === 200).toBe(row.rejectionCode === 'approval_declined')
      expect(await eventsOf(id)).toHaveLength(wasApproved ? 0 : 1)
    }
    await expectMoney(FUNDS - released * 2_000, released * 2_000)
  })
})

describe('the rule', () => {
  test('an amount above the threshold waits, also to a known key', async () => {
    expect((await setRule(owner, { new_keys: true, above: 5_000 })).status).toBe(200)
    const body = order()
    const id = await request(owner.headers, body)
    await db().$executeRaw`
      UPDATE withdrawals SET approval_due_at = NULL, status = 'approved', approved_at = now(),
        end_to_end_id = ${`E${newId().replaceAll('-', '').slice(0, 31)}`} WHERE id = ${id}::uuid`
    expect(await isWaiting(await request(owner.headers, { ...body, amount: 5_000 }))).toBe(false)
    const above = await request(owner.headers, { ...body, amount: 5_001 })
    expect((await stored(above)).approvalReason).toBe('amount')
  })

  test('an account of before the update has none until an owner sets one', async () => {
    await db().$executeRaw`
      UPDATE accounts SET approval_new_keys = DEFAULT WHERE id = ${merchant.id}::uuid`
    expect(await isWaiting(await request(owner.headers))).toBe(false)
    expect(await readRule(owner)).toMatchObject({ new_keys: false, above: null, approvers: 2 })
    await setRule(owner, { new_keys: true, above: null })
    expect(await isWaiting(await request(owner.headers))).toBe(true)
  })

  test('is not in force with one eligible member, whoever else belongs to the account', async () => {
    await db().user.update({ where: { id: finance.id }, data: { disabledAt: new Date() } })
    await addMember('developer')
    await addMember('viewer')
    await age()
    expect(await isWaiting(await request(owner.headers))).toBe(false)
    expect(await readRule(owner)).toMatchObject({ is_in_force: false, approvers: 1 })
    expect((await setRule(owner, { new_keys: false, above: null })).status).toBe(200)
    expect(await readRule(owner)).toMatchObject({ new_keys: false, change: null })
  })

  test('one owner makes it stricter at once, but not weaker', async () => {
    await setRule(owner, { new_keys: true, above: 50_000 })
    await setRule(owner, { new_keys: true, above: 5_000 })
    expect(await readRule(owner)).toMatchObject({ new_keys: true, above: 5_000, change: null })
    for (const weaker of [
      { new_keys: false, above: 5_000 },
      { new_keys: true, above: 5_001 },
      { new_keys: true, above: null },
    ]) {
      await setRule(owner, weaker)
      const { change, ...rule } = await readRule(owner)
      expect(rule).toMatchObject({ new_keys: true, above: 5_000 })
      expect(change).toMatchObject({ ...weaker, can_confirm: false })
      const body = { id: change.id }
      const path = '/dashboard/account/approval/confirm'
      expect(refusal(await call(api.url, 'POST', path, { headers: owner.headers, body }))).toEqual(
        BY_OTHER,
      )
      const asFinance = await call(api.url, 'POST', path, { headers: finance.headers, body })
      expect(asFinance.headers.get('x-error-code')).toBe('permission_denied')
    }
  })

  test('with a sum of the day, one owner lowers it at once, and raises or removes it with another', async () => {
    const second = await addMember('owner')
    await age()
    const rule = { new_keys: false, above: 5_000 }
    await db().$executeRaw`
      UPDATE accounts SET approval_new_keys = false WHERE id = ${merchant.id}::uuid`
    for (const day_above of [9_000, 3_000]) {
      await setRule(owner, { ...rule, day_above })
      expect(await readRule(owner)).toMatchObject({ ...rule, day_above, change: null })
    }
    expect(await isWaiting(await request(owner.headers, order(3_000)))).toBe(false)
    const [first = '', last = ''] = [await request(owner.headers), await request(owner.headers)]
    // The day may change before either.
    const reasons = [await stored(first), await stored(last)].map(row => row.approvalReason)
    expect(reasons).toContain('day_amount')
    for (const day_above of [3_001, null]) {
      await setRule(owner, { ...rule, day_above })
      const { change, ...unchanged } = await readRule(owner)
      expect(unchanged).toMatchObject({ ...rule, day_above: 3_000 })
      expect(change).toMatchObject({ ...rule, day_above, can_confirm: false })
    }
    const path = '/dashboard/account/approval/confirm'
    const body = { id: (await readRule(second)).change.id }
    const { headers } = second
    expect((await call(api.url, 'POST', path, { headers, body })).status).toBe(200)
    expect(await readRule(owner)).toMatchObject({ ...rule, day_above: null, change: null })
    expect(await isWaiting(await request(owner.headers, order(3_000)))).toBe(false)
    const where = { accountId: merchant.id, action: 'account.approval_changed' }
    const [record] = await db().auditRecord.findMany({ where, orderBy: { id: 'desc' }, take: 1 })
    expect(record?.before).toMatchObject({ approval_day_above: 3_000 })
    expect(record?.after).toMatchObject({ approval_day_above: null })
  })

  test('a second owner confirms, once, and not after 24 hours', async () => {
    const second = await addMember('owner')
    await age()
    const confirm = (id: string) =>
      call(api.url, 'POST', '/dashboard/account/approval/confirm', {
        headers: second.headers,
        body: { id },
      })
    await setRule(owner, { new_keys: false, above: null })
    const old = (await readRule(second)).change.id
    await db().$executeRaw`UPDATE approval_changes SET expires_at = now()`
    expect(refusal(await confirm(old))).toEqual(ENDED)
    await setRule(owner, { new_keys: false, above: null })
    const { change } = await readRule(second)
    expect(change.can_confirm).toBe(true)
    expect(refusal(await confirm(old))).toEqual(ENDED)
    const both = await Promise.all([confirm(change.id), confirm(change.id)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(await readRule(owner)).toMatchObject({ new_keys: false, change: null })
    expect(await isWaiting(await request(owner.headers))).toBe(false)
  })

  test('an admin of the operator confirms; a change can be canceled by any owner', async () => {
    await setRule(owner, { new_keys: false, above: null })
    const { change } = await readRule(owner)
    const path = '/dashboard/account/approval'
    await call(api.url, 'DELETE', path, { headers: owner.headers })
    const headers = personHeaders(await signInAdmin())
    const confirm = (id: string) =>
      call(api.url, 'POST', `/admin/accounts/${merchant.id}/approval`, { headers, body: { id } })
    expect(refusal(await confirm(change.id))).toEqual(ENDED)
    await setRule(owner, { new_keys: false, above: null })
    expect((await confirm((await readRule(owner)).change.id)).status).toBe(200)
    expect(await readRule(owner)).toMatchObject({ new_keys: false, change: null })
  })
})

describe('a thief with the session of one owner', () => {
  const invite = async (role: Role) => {
    const body = { email: `accomplice-${newId()}@example.com`, role }
    await call(api.url, 'POST', '/dashboard/invitations', { headers: owner.headers, body })
    const secret = (await findMailedLink(body.email)).split('/').at(-1)
    const joined = await call(api.url, 'POST', '/visitor/join', {
      headers: { origin: owner.headers.origin ?? '' },
      body: { secret, full_name: 'Accomplice', password: `a long sentence ${newId()}` },
    })
    expect(joined.status, joined.text).toBe(200)
    const user = await db().user.findUniqueOrThrow({ where: { email: body.email } })
    const session = await openSession(user.id, { ip: null, userAgent: 'a browser' })
    return { id: user.id, headers: pageHeaders(session, merchant.id) }
  }

  const inviteBy = async (inviter: Member, role: Role = 'finance') => {
    const before = owner
    owner = inviter
    const invited = await invite(role)
    owner = before
    return invited
  }

  test.each(['finance', 'owner'] as const)(
    'cannot approve through a new %s, in either direction, nor confirm a weaker rule',
    async role => {
      const accomplice = await invite(role)
      const second = role === 'owner' ? await inviteBy(accomplice) : await invite('finance')
      const own = await request(owner.headers)
      for (const one of [accomplice, second])
        expect(refusal(await approve(own, one))).toEqual(BY_OTHER)
      const theirs = await request(accomplice.headers)
      for (const one of [owner, accomplice, second])
        expect(refusal(await approve(theirs, one))).toEqual(BY_OTHER)
      await setRule(owner, { new_keys: false, above: null })
      const body = { id: (await readRule(owner)).change.id }
      const path = '/dashboard/account/approval/confirm'
      const response = await call(api.url, 'POST', path, { headers: accomplice.headers, body })
      expect(response.status).toBe(403)
      expect((await approve(own, finance)).status).toBe(200)
      expect((await approve(theirs, finance)).status).toBe(200)
    },
  )

  const changeRole = (by: Member, { id }: Member, role: Role) =>
    call(api.url, 'PATCH', `/dashboard/members/${id}`, { headers: by.headers, body: { role } })
  const leave = async ({ headers }: Member) => {
    const left = await call(api.url, 'POST', '/dashboard/members/leave', { headers, body: {} })
    expect(left.status, left.text).toBe(200)
  }
  const issue = async ({ headers }: Member) => {
    const body = { name: 'Loja', permissions: ['withdrawals:write'] }
    const issued = await call(api.url, 'POST', '/tokens', { headers, body })
    expect(issued.status, issued.text).toBe(200)
    return { authorization: `Bearer ${issued.body.data.token}` }
  }
  const rejoin = async (by: Member, { id, headers }: Member, role: Role = 'owner') => {
    const { email } = await db().user.findUniqueOrThrow({ where: { id } })
    const body = { email, role }
    await call(api.url, 'POST', '/dashboard/invitations', { headers: by.headers, body })
    const secret = (await findMailedLink(email)).split('/').at(-1)
    const joined = await call(api.url, 'POST', '/person/join', { headers, body: { secret } })
    expect(joined.status, joined.text).toBe(200)
  }
  /** Lets `hours` pass for members and for the time in which the rule is kept. */
  const pass = async (hours: number) => {
    await db().$executeRaw`
      UPDATE memberships SET role_at = role_at - ${hours} * interval '1 hour' WHERE role_at IS NOT NULL`
    await db().$executeRaw`
      UPDATE accounts SET approval_kept_until = approval_kept_until - ${hours} * interval '1 hour'`
  }
  const expectBarred = async (id: string, ...members: Member[]) => {
    expect(await isWaiting(id)).toBe(true)
    for (const one of members) expect(refusal(await approve(id, one))).toEqual(BY_OTHER)
  }

  test('cannot approve what the token of an accomplice requests who left', async () => {
    const accomplice = await invite('owner')
    const second = await inviteBy(accomplice, 'owner')
    const third = await inviteBy(second)
    const before = await request(accomplice.headers)
    const tokens = [await issue(accomplice), await issue(second)]
    await leave(accomplice)
    await leave(second)
    for (const token of tokens) await expectBarred(await request(token), owner, third)
    await expectBarred(before, owner, third)
    await pass(25)
    const [token = {}] = tokens
    await expectBarred(await request(token), owner)
    expect((await approve(await request(token), finance)).status).toBe(200)
  })

  testInTorture(
    'cannot approve it after the accomplice has joined again, whoever invites',
    async () => {
      const honest = await addMember('owner')
      await age()
      for (const inviter of [owner, honest]) {
        const accomplice = await invite('owner')
        const token = await issue(accomplice)
        const own = await request(owner.headers)
        await leave(accomplice)
        await rejoin(inviter, accomplice)
        await expectBarred(await request(token), owner, accomplice)
        await expectBarred(own, accomplice)
        await leave(accomplice)
        await expectBarred(await request(token), owner)
      }
    },
  )

  testInTorture(
    'cannot lose who answers for an accomplice by leaving while they join',
    async () => {
      for (const delay of [0, 2, 4, 8, 12, 20]) {
        const [inviter, joiner] = [await addMember('owner'), await addMember('viewer')]
        await leave(joiner)
        const data = { roleAt: new Date(), roleBy: owner.id, roleVia: [owner.id] }
        await db().membership.updateMany({ where: { userId: inviter.id }, data })
        const { email } = await db().user.findUniqueOrThrow({ where: { id: joiner.id } })
        const body = { email, role: 'finance' }
        await call(api.url, 'POST', '/dashboard/invitations', { headers: inviter.headers, body })
        const secret = (await findMailedLink(email)).split('/').at(-1)
        const { headers } = joiner
        const [joined] = await Promise.all([
          call(api.url, 'POST', '/person/join', { headers, body: { secret } }),
          new Promise(resolve => setTimeout(resolve, delay)).then(() => leave(inviter)),
        ])
        expect([200, 409]).toContain(joined.status)
        if (joined.status === 200) await expectBarred(await request(owner.headers), joiner)
      }
    },
  )

  test('cannot approve it after another owner changed the role of the accomplice', async () => {
    const honest = await addMember('owner')
    await age()
    const accomplice = await invite('finance')
    const token = await issue(await invite('owner'))
    expect((await changeRole(honest, accomplice, 'viewer')).status).toBe(200)
    expect((await changeRole(honest, accomplice, 'finance')).status).toBe(200)
    const session = await openSession(accomplice.id, { ip: null, userAgent: 'a browser' })
    const again = { id: accomplice.id, headers: pageHeaders(session, merchant.id) }
    await expectBarred(await request(again.headers), owner)
    await expectBarred(await request(owner.headers), again)
    await expectBarred(await request(token), owner, again)
  })

  testInTorture(
    'whose own role is new cannot approve through a chain of accomplices, at any hour',
    async () => {
      const honest = await addMember('owner')
      await age()
      expect((await changeRole(honest, owner, 'viewer')).status).toBe(200)
      expect((await changeRole(honest, owner, 'owner')).status).toBe(200)
      const session = await openSession(owner.id, { ip: null, userAgent: 'a browser' })
      owner = { id: owner.id, headers: pageHeaders(session, merchant.id) }
      await pass(23)
      const first = await invite('owner')
      const second = await inviteBy(first)
      const token = await issue(first)
      // The owner's role is now older than a day; those of the accomplices are not.
      await pass(2)
      await expectBarred(await request(owner.headers), first, second)
      await expectBarred(await request(second.headers), owner, first)
      await leave(first)
      await expectBarred(await request(token), owner, second)
      expect((await approve(await request(owner.headers), finance)).status).toBe(200)
    },
  )

  test('cannot confirm a weaker rule as an admin of the operator, who is also an owner', async () => {
    await db().user.update({ where: { id: owner.id }, data: { isAdmin: true } })
    const authenticator = { userId: owner.id, sealed: new Uint8Array(), confirmedAt: new Date() }
    await db().authenticator.create({ data: authenticator })
    const { cookie = '', origin = '' } = owner.headers
    const confirm = async () => {
      const { change } = await readApprovalSettings(merchant.id, owner.id, true)
      const path = `/admin/accounts/${merchant.id}/approval`
      const body = { id: change?.id }
      const response = await call(api.url, 'POST', path, { headers: { cookie, origin }, body })
      expect(change?.can_confirm).toBe(response.status === 200)
      return response
    }
    const weaker = { new_keys: false, above: null }
    await setRule(owner, weaker)
    expect(refusal(await confirm())).toEqual(BY_OTHER)
    const accomplice = await invite('owner')
    await setRule(accomplice, weaker)
    expect(refusal(await confirm())).toEqual(BY_OTHER)
    await leave(accomplice)
    expect(refusal(await confirm())).toEqual(BY_OTHER)
    const honest = await addMember('owner')
    await age()
    await setRule(honest, weaker)
    expect((await confirm()).status).toBe(200)
  })

  test('cannot withdraw after removing or demoting the second member', async () => {
    const waitsAfter = async (method: string, body: object) => {
      const path = `/dashboard/members/${finance.id}`
      const { status } = await call(api.url, method, path, { headers: owner.headers, body })
      expect(status).toBe(200)
      expect(await isWaiting(await request(owner.headers))).toBe(true)
      await setRule(owner, { new_keys: false, above: null })
      expect((await readRule(owner)).new_keys).toBe(true)
      expect(await isWaiting(await request(owner.headers))).toBe(true)
    }
    await waitsAfter('PATCH', { role: 'viewer' })
    await db().$executeRaw`UPDATE accounts SET approval_kept_until = NULL`
    await db().membership.updateMany({ where: { userId: finance.id }, data: { role: 'finance' } })
    await age()
    await waitsAfter('DELETE', { tokens: [] })
    await db().$executeRaw`UPDATE accounts SET approval_kept_until = now()`
    expect(await isWaiting(await request(owner.headers))).toBe(false)
  })

  /** Checks every half hour of two days, beginning with a change of the members `hours` ago. */
  const expectInForceAlways = async (hours: number, restore: () => Promise<unknown>) => {
    for (let hour = 0; hour <= 49; hour += 0.5) {
      if (hour === hours) await restore()
      expect(await readRule(owner), `${hour} h`).toMatchObject({ is_in_force: true })
      if (hour % 12 === 0 || hour === hours + 23.5)
        expect(await isWaiting(await request(owner.headers)), `${hour} h`).toBe(true)
      await pass(0.5)
    }
    await setRule(owner, { new_keys: false, above: null })
    expect(await readRule(owner)).toMatchObject({ new_keys: true })
  }

  testInTorture.each([12, 23.5, 1, 23].slice(0, pickSize(2, 4)))(
    'finds no hour without the rule after restoring a demoted member %d hours later',
    async hours => {
      expect((await changeRole(owner, finance, 'viewer')).status).toBe(200)
      await expectInForceAlways(hours, async () => {
        expect((await changeRole(owner, finance, 'finance')).status).toBe(200)
      })
    },
  )

  test('finds no hour without the rule after a removed member joins again', async () => {
    const path = `/dashboard/members/${finance.id}`
    const body = { tokens: [] }
    await call(api.url, 'DELETE', path, { headers: owner.headers, body })
    await expectInForceAlways(23, async () => {
      const session = await openSession(finance.id, { ip: null, userAgent: 'a browser' })
      finance = { id: finance.id, headers: pageHeaders(session, merchant.id) }
      await rejoin(owner, finance, 'finance')
    })
    expect((await approve(await request(owner.headers), finance)).status).toBe(200)
  })

  test('cannot make the second member count as their own by changing the role', async () => {
    const path = `/dashboard/members/${finance.id}`
    for (const role of ['owner', 'finance', 'viewer', 'finance'] as const) {
      const body = { role }
      await call(api.url, 'PATCH', path, { headers: owner.headers, body })
      expect(await isWaiting(await request(owner.headers))).toBe(true)
    }
  })
})

test('in an account of its first day, a member who was just invited approves', async () => {
  await db().account.update({ where: { id: merchant.id }, data: { createdAt: new Date() } })
  await db().membership.update({
    where: { accountId_userId: { accountId: merchant.id, userId: finance.id } },
    data: { roleAt: new Date(), roleBy: owner.id },
  })
  expect((await approve(await request(owner.headers), finance)).status).toBe(200)
})
