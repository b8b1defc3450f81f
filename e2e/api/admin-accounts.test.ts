import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAssignedConnections } from '#lib/accounts/queries.ts'
import { spiRefusal } from '#lib/banks/gateway.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { createRefund, rejectRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { unseal } from '#lib/core/keys.ts'
import { db } from '#lib/db/client.ts'
import { listAccountLines, readAccount } from '#lib/operator/accounts.ts'
import { findBankOrder, findMaskedCharge } from '#lib/operator/payments.ts'
import { listTokenLines } from '#lib/operator/tokens.ts'
import { AccountStatusChange, AccountStatusChanges } from '#lib/operator/wire.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { addConnection } from '#lib/testing/connection.ts'
import {
  type Api,
  fundMerchant,
  makeMerchant,
  makeToken,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { expectShape, personHeaders, refusal, signInAdmin } from '#lib/testing/member.ts'
import { revokeAccountTokens, rotateToken } from '#lib/tokens/change.ts'
import { listTokens } from '#lib/tokens/queries.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

let api: Api
let second: ApiProcess
let admin: string
beforeAll(async () => {
  api = await startApi()
  second = await startApiProcess()
  admin = await signInAdmin()
})
afterAll(async () => {
  await second.close()
  await api.close()
})

const request = (path: string, body: object = {}, method = 'POST') =>
  call(api.url, method, `/admin/accounts/${path}`, { headers: personHeaders(admin), body })
const callWithToken = async (url: string, token: string) => {
  const { status, text } = await call(url, 'GET', '/account', { token })
  return [status, status === 200 ? '' : text]
}
const listRecords = (accountId: string, action: string) =>
  db().auditRecord.findMany({ where: { accountId, action }, orderBy: { id: 'asc' } })

async function listMailsTo(email: string) {
  const mails = await db().mail.findMany({ orderBy: { id: 'asc' } })
  return mails
    .map(({ id, sealed }) => JSON.parse(unseal(sealed, id, 'mails')))
    .filter(({ to }) => to === email)
}

async function makeMerchantAndOwner(name?: string) {
  const merchant = await makeMerchant(name)
  const account = await readAccount(merchant.id)
  return { merchant, owner: account?.owner_email ?? '' }
}

describe('an account suspended or activated by an admin', () => {
  test('changes in every process at the next request, and its owners get the reason by mail', async () => {
    const { merchant, owner } = await makeMerchantAndOwner()
    const token = await makeToken(merchant.id)
    for (const url of [api.url, second.url])
      expect(await callWithToken(url, token)).toEqual([200, ''])
    const response = await request(`${merchant.id}/suspend`, { reason: 'chargebacks' })
    expectShape(AccountStatusChange, response.body)
    expect(response.body.data).toMatchObject({ status: 'suspended', reason: 'chargebacks' })
    const refused = [403, '{"error":"Account not active"}']
    for (const url of [second.url, api.url])
      expect(await callWithToken(url, token)).toEqual(refused)
    await request(`${merchant.id}/suspend`, { reason: 'once more' })
    expect(await listMailsTo(owner)).toMatchObject([
      { text: expect.stringContaining('chargebacks') },
    ])

    const again = await request(`${merchant.id}/activate`)
    expect(again.body.data).toMatchObject({ status: 'active', reason: null })
    for (const url of [second.url, api.url])
      expect(await callWithToken(url, token)).toEqual([200, ''])
    expect(await listMailsTo(owner)).toHaveLength(2)
    expect(await listRecords(merchant.id, 'account.suspended')).toMatchObject([
      {
        actorType: 'user',
        reason: 'chargebacks',
        before: { status: 'active' },
        after: { status: 'suspended' },
      },
    ])
  })

  test('is suspended only with a reason of 3 to 200 characters on one line', async () => {
    const merchant = await makeMerchant()
    for (const reason of [undefined, '', ' x ', 'a\nb c', 'x'.repeat(201)]) {
      expect((await request(`${merchant.id}/suspend`, { reason })).status, reason).toBe(422)
    }
    expect((await readAccount(merchant.id))?.status).toBe('active')
  })

  test('up to 100 at once: each with its own result, record and mail, and safe to repeat', async () => {
    const shops = await Promise.all([1, 2, 3].map(() => makeMerchantAndOwner()))
    const [first, second, third] = shops.map(({ merchant }) => merchant.id)
    await request(`${second}/suspend`, { reason: 'before' })
    const unknown = newId()
    const account_ids = [first, second, unknown, third]
    const change = { account_ids, status: 'suspended', reason: 'fraud wave' }
    const outcomesOf = async (body: object) => {
      const response = await request('status', body)
      expectShape(AccountStatusChanges, response.body)
      return response.body.data.map(({ outcome }: { outcome: string }) => outcome)
    }
    const outcomes = await Promise.all([outcomesOf(change), outcomesOf(change)])
    // Of two requests at once, each account is changed by one.
    const changes = account_ids.map((_, index) => outcomes.map(list => list[index]).sort())
    expect(changes[0]).toEqual(['changed', 'unchanged'])
    expect(changes[1]).toEqual(['unchanged', 'unchanged'])
    expect(changes[2]).toEqual(['not_found', 'not_found'])
    expect(changes[3]).toEqual(['changed', 'unchanged'])
    for (const { merchant, owner } of [shops[0], shops[2]].flatMap(shop => shop ?? [])) {
      expect(await listRecords(merchant.id, 'account.suspended')).toMatchObject([
        { reason: 'fraud wave', actorType: 'user', after: { status: 'suspended' } },
      ])
      expect(await listMailsTo(owner)).toHaveLength(1)
    }
    expect(await listRecords(second ?? '', 'account.suspended')).toHaveLength(1)
    expect(await outcomesOf({ ...change, status: 'active' })).toEqual([
      'changed',
      'changed',
      'not_found',
      'changed',
    ])
    for (const wrong of [
      { account_ids: [] },
      { account_ids: [first, first] },
      { account_ids: Array.from({ length: 101 }, newId) },
      { account_ids: ['none'] },
      { status: 'pending' },
      { reason: 'x' },
    ])
      expect((await request('status', { ...change, ...wrong })).status).toBe(422)
  })

  test.each(['suspend', 'activate', 'tokens/revoke'])(
    '%s returns 404 for an unknown account',
    async action => {
      const expected = [404, '{"error":"Account not found"}', 'account_not_found']
      for (const id of [newId(), 'none']) {
        expect(refusal(await request(`${id}/${action}`, { reason: 'no such' }))).toEqual(expected)
      }
    },
  )
})

describe('tokens revoked by an admin', () => {
  test('one: it gets 401 in every process at the next request, and the owner sees who revoked it', async () => {
    const { merchant, owner } = await makeMerchantAndOwner()
    const [token, otherToken] = [await makeToken(merchant.id), await makeToken(merchant.id)]
    expect(await callWithToken(second.url, token)).toEqual([200, ''])
    const page = await listTokenLines({ q: token.slice(0, 15) })
    const id = page.rows.find(row => token.startsWith(row.prefix))?.id ?? ''
    const path = `${merchant.id}/tokens/${id}/revoke`
    const { body } = await request(path, { reason: 'found on a public site' })
    expect(body.data).toEqual({ id, was_in_force: true })
    expect(await callWithToken(second.url, token)).toEqual([401, '{"error":"Unauthenticated"}'])
    expect(await callWithToken(second.url, otherToken)).toEqual([200, ''])
    expect((await request(path, { reason: 'once more' })).body.data.was_in_force).toBe(false)

    const revoked = (await listTokens(merchant.id, 'test')).find(row => row.id === id)
    const revocation = {
      revoked_by: 'operator',
      revoker: null,
      revoked_reason: 'found on a public site',
    }
    expect(revoked).toMatchObject({ status: 'revoked', ...revocation })
    const [mail, ...others] = await listMailsTo(owner)
    expect([others, mail.text.includes(token)]).toEqual([[], false])
    expect(mail.text).toContain('found on a public site')
    expect(await listRecords(merchant.id, 'token.revoked')).toMatchObject([{ target: id }])
  })

  test('all: one record each, one mail, and no tokens of other accounts', async () => {
    const { merchant, owner } = await makeMerchantAndOwner()
    const neighbour = await makeToken((await makeMerchant()).id)
    const past = new Date(Date.now() - 1_000)
    const tokens = [await makeToken(merchant.id), await makeToken(merchant.id)]
    await makeToken(merchant.id, { expiresAt: past })
    const { body } = await request(`${merchant.id}/tokens/revoke`, { reason: 'stolen laptop' })
    expect(body.data).toEqual({ revoked: 2 })
    for (const token of tokens) expect((await callWithToken(second.url, token))[0]).toBe(401)
    expect(await callWithToken(second.url, neighbour)).toEqual([200, ''])
    expect(await listRecords(merchant.id, 'token.revoked')).toHaveLength(2)
    expect(await listMailsTo(owner)).toHaveLength(1)
    await request(`${merchant.id}/tokens/revoke`, { reason: 'once more' })
    expect(await listMailsTo(owner)).toHaveLength(1)
  })

  test('all: also the successor of a token that is being rotated', async () => {
    const actor = { type: 'system' } as const
    for (let round = 0; round < 10; round++) {
      const { id: accountId } = await makeMerchant()
      await makeToken(accountId)
      const [old] = await listTokens(accountId, 'test')
      const rotation = { accountId, mode: 'test', id: old?.id ?? '', overlapHours: 24 } as const
      await Promise.allSettled([
        rotateToken(rotation, actor),
        revokeAccountTokens(accountId, 'stolen laptop', actor),
      ])
      expect(await db().token.count({ where: { accountId, revokedAt: null } })).toBe(0)
    }
  })

  test('a token of another account returns 404', async () => {
    const [merchant, otherMerchant] = [await makeMerchant(), await makeMerchant()]
    await makeToken(otherMerchant.id)
    const [otherToken] = await listTokens(otherMerchant.id, 'test')
    const response = await request(`${merchant.id}/tokens/${otherToken?.id}/revoke`, {
      reason: 'not theirs',
    })
    expect(refusal(response)).toEqual([404, '{"error":"Token not found"}', 'token_not_found'])
    expect((await listTokens(otherMerchant.id, 'test'))[0]?.status).toBe('active')
  })

  test('are found by prefix, last four characters or account, and not by a shorter prefix', async () => {
    const name = `Loja ${newId()}`
    const merchant = await makeMerchant(name)
    const token = await makeToken(merchant.id)
    const find = async (q: string) =>
      (await listTokenLines({ q })).rows.filter(row => row.account_id === merchant.id).length
    expect(await Promise.all([token, token.slice(0, 15), token.slice(-4), name].map(find))).toEqual(
      [1, 1, 1, 1],
    )
    expect(await find(token.slice(0, 14))).toBe(0)
    expect((await listTokenLines({ q: name, status: 'revoked' })).rows).toEqual([])
    expect(JSON.stringify(await listTokenLines({ q: name }))).not.toContain(token)
  })
})

describe('limits', () => {
  const LIMITS = { charge_max: 100_000, withdrawal_max: 500_000, night_max: 0, day_max: null }

  test('are set with an audit record of the changed values only', async () => {
    const { id } = await makeMerchant()
    const put = (body: object) => request(`${id}/limits`, body, 'PUT')
    expect((await put(LIMITS)).body.data).toEqual(LIMITS)
    await put(LIMITS)
    await put({ ...LIMITS, night_max: null, day_max: 5_000 })
    const before = { charge_max: null, withdrawal_max: null, night_max: null }
    expect(await listRecords(id, 'account.limited')).toMatchObject([
      { before, after: { charge_max: 100_000, withdrawal_max: 500_000, night_max: 0 } },
      { before: { night_max: 0, day_max: null }, after: { night_max: null, day_max: 5_000 } },
    ])
    expect((await readAccount(id))?.limits).toEqual({ ...LIMITS, night_max: null, day_max: 5_000 })
    for (const wrong of [{ charge_max: 499 }, { withdrawal_max: 0 }, { night_max: -1 }]) {
      expect((await put({ ...LIMITS, ...wrong })).status).toBe(422)
    }
  })
})

describe('connections', () => {
  test('are set and removed; a wrong one is refused by its field', async () => {
    const { id } = await makeMerchant()
    const connectionId = await addConnection(new StubBank())
    const put = (body: object) => request(`${id}/connections`, body, 'PUT')
    const assigned = { receiving_id: connectionId, paying_id: null }
    expect((await put(assigned)).body.data).toEqual(assigned)
    expect(await readAssignedConnections(id)).toEqual(assigned)
    const wrong = await put({ ...assigned, paying_id: newId() })
    expect([wrong.status, Object.keys(wrong.body.errors)]).toEqual([422, ['paying_id']])
    expect((await put({})).body.data).toEqual({ receiving_id: null, paying_id: null })
    expect(await listRecords(id, 'account.connections_assigned')).toHaveLength(2)
    expect((await request(`${newId()}/connections`, {}, 'PUT')).status).toBe(404)
  })
})

describe('admins see', () => {
  test('balances and volumes of both modes, by name, owner or id, pending accounts first', async () => {
    const name = `Armazém ${newId()}`
    const { merchant, owner } = await makeMerchantAndOwner(name)
    const waiting = await makeMerchant(`${name} 2`)
    const newest = await makeMerchant(`${name} 3`)
    await db().account.update({ where: { id: waiting.id }, data: { status: 'pending' } })
    await fundMerchant(merchant, 12_300)
    const findIds = async (q: string) => (await listAccountLines({ q })).rows.map(({ id }) => id)
    const folded = name.replace('Armazém', 'ARMAZEM')
    expect(await findIds(folded)).toEqual([waiting.id, newest.id, merchant.id])
    expect(await findIds(owner.slice(0, -4))).toEqual([merchant.id])
    expect(await findIds(merchant.id)).toEqual([merchant.id])
    const next = await listAccountLines({ q: folded, cursor: waiting.id })
    expect(next.rows.map(({ id }) => id)).toEqual([newest.id, merchant.id])
    const [line] = (await listAccountLines({ q: merchant.id })).rows
    const amounts = { test: 12_300, live: 0 }
    expect(line).toMatchObject({ owner_email: owner, balance: amounts, volume: amounts })
  })

  test("a payer's document masked, until they give a reason, which the account can read", async () => {
    const [merchant, otherMerchant] = [await makeMerchant(), await makeMerchant()]
    const { id } = await openCharge(merchant)
    expect(await findMaskedCharge(otherMerchant.id, id)).toBeNull()
    const charge = await findMaskedCharge(merchant.id, id)
    expect(charge).toMatchObject({ id, mode: 'test', status: 'pending', amount: 1_500 })
    expect(charge?.payer).toMatch(/^\*\*\*\.\d{3}\.\d{3}-\*\*$/)
    const reveal = (accountId: string, body: object) =>
      request(`${accountId}/charges/${id}/document`, body)
    expect((await reveal(merchant.id, {})).status).toBe(422)
    expect((await reveal(otherMerchant.id, { reason: 'not theirs' })).status).toBe(404)
    const response = await reveal(merchant.id, { reason: 'ticket 7' })
    const { clientDoc } = await db().charge.findFirstOrThrow({ where: { id } })
    expect(response.body.data).toEqual({ document: clientDoc })
    const records = await listRecords(merchant.id, 'charge.document_revealed')
    const after = { mode: 'test' }
    expect(records).toMatchObject([{ target: id, reason: 'ticket 7', before: null, after }])
    expect(JSON.stringify(records)).not.toContain(clientDoc)
    expect(await listRecords(otherMerchant.id, 'charge.document_revealed')).toEqual([])
  })

  test("why a bank refused a withdrawal or refund, in the bank's own words", async () => {
    const merchant = await makeMerchant()
    const { id: chargeId } = await openCharge(merchant, 10_000)
    await simulateCharge(merchant.id, chargeId, 'paid')
    const { id: refundId } = await createRefund(merchant.id, 'test', chargeId, { amount: 100 })
    const reason = spiRefusal('AC07', 'Conta encerrada em 2025')
    await rejectRefund({ accountId: merchant.id, refundId, reason })
    const refused = { rejection_code: 'account_closed', bank_text: 'Conta encerrada em 2025' }
    expect(await findBankOrder(merchant.id, refundId)).toMatchObject({
      kind: 'refund',
      status: 'rejected',
      amount: 100,
      end_to_end_id: null,
      ...refused,
    })
    const key = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
    const { id } = await createWithdrawal(merchant.id, 'test', { amount: 1_000, ...key })
    const data = { endToEndId: newEndToEndId(), otherEndToEndId: newEndToEndId() }
    await db().withdrawal.updateMany({ where: { id }, data })
    expect(await findBankOrder(merchant.id, id)).toMatchObject({
      kind: 'withdrawal',
      status: 'pending',
      rejection_code: null,
      bank_text: null,
      end_to_end_id: data.endToEndId,
      other_end_to_end_id: data.otherEndToEndId,
    })
    expect(await findBankOrder((await makeMerchant()).id, id)).toBeNull()
    expect(await findBankOrder(merchant.id, 'no id')).toBeNull()
  })
})
