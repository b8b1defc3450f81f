import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { recordAudit } from '#lib/audit/record.ts'
import type { AuditLine } from '#lib/audit/schema.ts'
import { AuditPage } from '#lib/audit/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { withLogContext } from '#lib/core/log.ts'
import { EXPORT_END } from '#lib/dashboard/schema.ts'
import { db, transaction } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { addEndpoint } from '#lib/testing/deliveries.ts'
import { type Api, CHARGE, fundMerchant, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import {
  expectShape,
  pageHeaders,
  personHeaders,
  signIn,
  signInAdmin,
} from '#lib/testing/member.ts'

const STAFF_IP = '198.51.100.99'

let api: Api
let merchant: Account
let [ownerSecret, staffSecret, ownerId, staffId] = ['', '', '', '']
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant('Loja da Auditoria')
  await fundMerchant(merchant, 100_000)
  ownerSecret = await signIn(merchant, 'owner')
  staffSecret = await signInAdmin()
  ownerId = await findUserId(ownerSecret)
  staffId = await findUserId(staffSecret)
  await withLogContext({ requestId: 'staff-request', ip: STAFF_IP }, () =>
    recordLimitAsStaff(merchant.id),
  )
})
afterAll(() => api.close())

async function findUserId(secret: string): Promise<string> {
  const where = { secretHash: hashSecret(secret) }
  return (await db().userSession.findUniqueOrThrow({ where })).userId
}

function recordLimitAsStaff(accountId: string): Promise<void> {
  const actor = { type: 'user', id: staffId } as const
  const entry = { actor, action: 'account.limited', accountId, reason: 'a rule' }
  return transaction(tx => recordAudit(tx, { ...entry, after: { charge_max: 1_000 } }))
}

const callAsOwner = (method: string, path: string, body?: unknown, secret = ownerSecret) =>
  call(api.url, method, path, { headers: pageHeaders(secret, merchant.id), body })
const callAsStaff = (path: string) =>
  call(api.url, 'GET', path, { headers: personHeaders(staffSecret) })
const listAsOwner = async (query = '') =>
  (await callAsOwner('GET', `/dashboard/audit?limit=100&${query}`)).body.data as AuditLine[]
const listAsStaff = async (query = '') =>
  (await callAsStaff(`/admin/audit?limit=100&${query}`)).body.data as AuditLine[]
const actionsOf = (lines: AuditLine[]) => lines.map(({ action }) => action)

describe('an action of a member', () => {
  test('is recorded with actor, address, request id and changed values', async () => {
    const body = { name: 'Nova Loja', city: 'Recife', expires_in: 3_600, time_zone: 'UTC' }
    const { headers } = await callAsOwner('PATCH', '/dashboard/account', body)
    const response = await callAsOwner('GET', '/dashboard/audit?action=account.updated')
    expectShape(AuditPage, response.body)
    expect(response.body.data).toMatchObject([
      {
        action: 'account.updated',
        actor: { kind: 'person', id: ownerId },
        account: { id: merchant.id, name: 'Nova Loja' },
        before: { name: 'Loja da Auditoria' },
        after: { name: 'Nova Loja', city: 'Recife' },
        ip: '127.0.0.1',
        request_id: headers.get('x-request-id'),
      },
    ])
  })

  test('that moves money is recorded; a refused withdrawal is not', async () => {
    const key = { pix_key: 'ana@example.com', pix_key_type: 'email' }
    const withdrawal = await callAsOwner('POST', '/withdrawals', { amount: 1_000, ...key })
    const charge = await db().charge.findFirstOrThrow({ where: { accountId: merchant.id } })
    const path = `/transactions/${charge.id}/refunds`
    const refund = await callAsOwner('POST', path, { amount: 500 })
    expect(await listAsOwner('action=withdrawal.requested')).toMatchObject([
      { target: withdrawal.body.data.id, after: { mode: 'test', amount: 1_000 }, ip: '127.0.0.1' },
    ])
    expect(await listAsOwner('action=refund.requested')).toMatchObject([
      { target: refund.body.data.id, after: { mode: 'test', amount: 500 } },
    ])
    await callAsOwner('POST', '/withdrawals', { amount: 100_000_000, ...key })
    expect(await listAsOwner('action=withdrawal.requested')).toHaveLength(1)
  })

  test('is recorded without secrets, documents, PIX keys or payer names', async () => {
    const url = 'https://hooks.example/pix?token=very-secret'
    const endpoint = await callAsOwner('POST', '/webhooks/endpoints', {
      url,
      event_types: '*',
    })
    const endpointPath = `/webhooks/endpoints/${endpoint.body.data.id}`
    await callAsOwner('PATCH', endpointPath, { url: `${url}2` })
    await callAsOwner('DELETE', endpointPath)
    const secretResponse = await callAsOwner('GET', '/dashboard/webhooks/secret')
    await callAsOwner('GET', '/dashboard/charges/export?locale=en&q=Ana+Beatriz&status=paid')
    await callAsOwner('GET', '/dashboard/statement/export?locale=en&format=csv')
    await callAsOwner('POST', '/webhooks/deliveries/resend', {
      from: new Date(Date.now() - 3_600_000).toISOString(),
    })
    const token = await callAsOwner('POST', '/tokens', {
      name: 'Loja',
      permissions: ['account:read'],
    })
    const stored = JSON.stringify(
      await db().auditRecord.findMany({ where: { accountId: merchant.id } }),
    )
    const secrets = [
      'very-secret',
      'Ana Beatriz',
      CHARGE.client_email,
      '52998224725',
      CHARGE.client_doc,
      'ana@example.com',
      endpoint.body.data.secret,
      secretResponse.body.data.secret,
      token.body.data.token,
    ]
    for (const secret of secrets) expect(stored).not.toContain(secret)
    expect(stored).toContain('https://hooks.example/pix?…')
    expect(actionsOf(await listAsOwner())).toEqual(
      expect.arrayContaining([
        'webhook_secret.shown',
        'charges.exported',
        'statement.exported',
        'webhook_delivery.resent',
        'token.issued',
        'webhook_endpoint.deleted',
      ]),
    )
  })
})

describe('an owner', () => {
  test('reads only records of their own account, whatever the filter', async () => {
    const other = await makeMerchant()
    const path = `/dashboard/audit?account=${other.id}`
    expect((await callAsOwner('GET', path)).status).toBe(422)
    const lines = await listAsOwner('')
    expect(lines.length).toBeGreaterThan(3)
    expect(new Set(lines.map(({ account }) => account?.id))).toEqual(new Set([merchant.id]))
  })

  test('sees staff as the operator, without name, address or request id, even by filter', async () => {
    const [line] = await listAsOwner('action=account.limited')
    expect(line).toMatchObject({
      actor: { kind: 'operator', id: null, name: null, email: null },
      reason: 'a rule',
      ip: null,
      request_id: null,
    })
    const { email } = await db().user.findUniqueOrThrow({ where: { id: staffId } })
    const guesses = [`actor=${staffId}`, `actor=${email}`, `q=${STAFF_IP}`, 'q=staff-request']
    for (const guess of guesses) expect(await listAsOwner(guess), guess).toEqual([])
    const table = await callAsOwner('GET', '/dashboard/audit/export?locale=en')
    expect(table.text).toContain('the administrator')
    for (const secret of [email, STAFF_IP, 'staff-request']) {
      expect(table.text).not.toContain(secret)
    }
  })

  test('sees staff who are members of the account by name', async () => {
    const sharedMerchant = await makeMerchant()
    await recordLimitAsStaff(sharedMerchant.id)
    await db().membership.create({
      data: { accountId: sharedMerchant.id, userId: staffId, role: 'owner' },
    })
    const headers = pageHeaders(staffSecret, sharedMerchant.id)
    const path = '/dashboard/audit?action=account.*'
    const { body } = await call(api.url, 'GET', path, { headers })
    expect(body.data[0].actor).toMatchObject({ kind: 'person', id: staffId })
  })

  test('is the only role that may read the audit log', async () => {
    for (const role of ['finance', 'developer', 'viewer'] as const) {
      const secret = await signIn(merchant, role)
      const { status, headers } = await callAsOwner('GET', '/dashboard/audit', undefined, secret)
      expect([status, headers.get('x-error-code')]).toEqual([403, 'permission_denied'])
    }
  })
})

describe('the operator’s staff', () => {
  test('reads records of every account, with actor and address', async () => {
    const [line] = await listAsStaff(`account=${merchant.id}&action=account.limited`)
    expect(line).toMatchObject({
      actor: { kind: 'person', id: staffId },
      account: { id: merchant.id },
      ip: STAFF_IP,
      request_id: 'staff-request',
    })
  })

  test('filters by account, person, action, target, address, request and time', async () => {
    const { email } = await db().user.findUniqueOrThrow({ where: { id: ownerId } })
    const merchantLines = await listAsStaff(`account=${merchant.id}`)
    const byOwner = merchantLines.filter(({ actor }) => actor.id === ownerId).map(({ id }) => id)
    expect(byOwner.length).toBeGreaterThan(3)
    for (const actor of [ownerId, email, email.toUpperCase()]) {
      const lines = await listAsStaff(`actor=${encodeURIComponent(actor)}&account=${merchant.id}`)
      expect(lines.map(({ id }) => id)).toEqual(byOwner)
    }
    const bySystem = await listAsStaff(`account=${merchant.id}&actor=system`)
    expect(actionsOf(bySystem)).toContain('account.created')
    expect(bySystem.every(({ actor }) => actor.kind === 'system')).toBe(true)
    const filterActions = async (filter: string) =>
      actionsOf(await listAsStaff(`account=${merchant.id}&${filter}`))
    expect(new Set(await filterActions('action=webhook_endpoint.*'))).toEqual(
      new Set(['created', 'edited', 'deleted'].map(action => `webhook_endpoint.${action}`)),
    )
    expect(actionsOf(await listAsStaff(`q=${STAFF_IP}`))).toContain('account.limited')
    expect(actionsOf(await listAsStaff('q=staff-request'))).toContain('account.limited')
    const [token] = merchantLines.filter(({ action }) => action === 'token.issued')
    expect((await listAsStaff(`target=${token?.target}`)).map(({ id }) => id)).toEqual([token?.id])
    expect(await filterActions('created_from=2999-01-01')).toEqual([])
    expect(await filterActions('created_to=2020-01-01')).toEqual([])
    expect(await filterActions(`actor=${newId()}`)).toEqual([])
    expect(await filterActions('actor=nobody%40troco.example')).toEqual([])
  })

  test.each(['action=nothing', 'account=x', 'limit=0', 'cursor=x', 'created_from=x'])(
    'gets 422 naming the invalid filter %s',
    async query => {
      const { status, body } = await callAsStaff(`/admin/audit?${query}`)
      expect(status).toBe(422)
      expect(Object.keys(body.errors)).toEqual([query.split('=')[0]])
    },
  )

  test('pages through all records, newest first, each once', async () => {
    const busy = await makeMerchant()
    await addEndpoint(busy, 'https://shop.example/hook')
    for (let count = 0; count < 6; count++) await recordLimitAsStaff(busy.id)
    const allLines = await listAsStaff(`account=${busy.id}`)
    const pagedLines: AuditLine[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const cursorQuery = cursor ? `&cursor=${cursor}` : ''
      const { body } = await callAsStaff(`/admin/audit?account=${busy.id}&limit=2${cursorQuery}`)
      pagedLines.push(...body.data)
      cursor = body.next_cursor
    }
    expect(pagedLines).toEqual(allLines)
    expect(allLines.map(({ id }) => id)).toEqual(
      allLines
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    )
    const group = await listAsStaff(`account=${busy.id}&action=account.*`)
    expect(group).toEqual(allLines.filter(({ action }) => action.startsWith('account.')))
  })

  test('exports a complete CSV without formulas, and the export is recorded', async () => {
    const other = await makeMerchant('=HYPERLINK("evil.example")')
    await recordLimitAsStaff(other.id)
    for (const [locale, comma, actionText] of [
      ['en', ',', 'Account limits changed'],
      ['pt-BR', ';', 'Limites da conta alterados'],
    ] as const) {
      const query = `locale=${locale}&account=${other.id}&action=account.limited`
      const { text, headers } = await callAsStaff(`/admin/audit/export?${query}`)
      expect(headers.get('content-disposition')).toMatch(/filename="[\w-]+\.csv"/)
      const [, line = '', end] = text.split('\r\n')
      expect(end).toBe(`${EXPORT_END}1`)
      expect(line).toContain(`${comma}${actionText}${comma}`)
      expect(line).toContain(`"'=HYPERLINK(""evil.example"")"`)
      expect(line).toContain('charge_max: 1000')
    }
    expect((await listAsStaff(`account=${other.id}&action=audit.exported`))[0]).toMatchObject({
      actor: { id: staffId },
      after: { action: 'account.limited' },
    })
  })
})
