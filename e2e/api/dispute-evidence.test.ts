import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { EVIDENCE_MAX } from '#lib/charges/disputes/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { draftAnswer, readDispute } from '#lib/operator/disputes.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { personHeaders, signInAdmin } from '#lib/testing/member.ts'

const NOT_FOUND = { error: 'Dispute not found' }
const FILE_BYTES_MAX = 5 * 1024 * 1024

let api: Api
let merchant: Account
let token: string
let path: string
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  token = await makeToken(merchant.id)
  const charge = await post('/transactions', { ...CHARGE, external_id: `pedido ${newId()}` })
  const { transaction_id: id } = charge.body.data
  await post(`/sandbox/transactions/${id}`, { outcome: 'paid' })
  const dispute = await post(`/sandbox/transactions/${id}/disputes`, {})
  path = `/disputes/${dispute.body.data.id}`
})
afterAll(() => api.close())

const post = (to: string, body: object, headers = {}) =>
  call(api.url, 'POST', to, { token, body, headers })
const get = (from: string, of = token) => call(api.url, 'GET', from, { token: of })
const base64 = (bytes: string | Buffer) => Buffer.from(bytes).toString('base64')
const pdf = (length: number) => Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(length - 9)])
const countStored = () => db().disputeEvidence.count({ where: { accountId: merchant.id } })

test('texts and files reach the operator, in order, with the defense that is drafted', async () => {
  const first = await post(`${path}/evidence`, { text: 'Entregue em 20/11,\nrastreio BR123.' })
  expect(first.status).toBe(200)
  const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1])
  // The content decides, whatever the name says.
  const body = { file: base64(jpeg), file_name: 'foto "da" porta.pdf' }
  const second = await post(`${path}/evidence`, body)
  expect(second.body.data).toMatchObject({
    text: null,
    file_name: body.file_name,
    file_type: 'image/jpeg',
    file_bytes: 5,
  })
  const { body: list } = await get(`${path}/evidence`)
  expect(list.data).toEqual([first.body.data, second.body.data])

  const secret = await signInAdmin()
  const file = `${path}/evidence/${second.body.data.id}`
  for (const response of [
    await get(file),
    await call(api.url, 'GET', `/admin/accounts/${merchant.id}${file}`, {
      headers: personHeaders(secret),
    }),
  ]) {
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('image/jpeg')
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="${second.body.data.id}.jpeg"`,
    )
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('cache-control')).toBe('private, no-store')
  }
  const seen = (await readDispute(merchant.id, path.split('/')[2] ?? '')) ?? expect.unreachable()
  expect(seen.sent_evidence).toEqual(list.data)
  expect(draftAnswer(seen, 'pt-BR')).toMatch(/A loja acrescenta:\nEntregue em 20\/11,\nrastreio/)
  // A text that does not fit is left out whole, not cut.
  const [one] = seen.sent_evidence
  const long = { ...one, text: 'x'.repeat(1_990) } as typeof one & object
  const draft = draftAnswer({ ...seen, sent_evidence: [long, ...seen.sent_evidence] }, 'pt-BR')
  expect(draft).toMatch(/rastreio BR123\.$/)
  expect(draft).not.toContain('x'.repeat(10))
  // Of the two downloads, only the one by staff is audited.
  const audited = await db().auditRecord.findMany({
    where: { accountId: merchant.id, action: { startsWith: 'dispute.evidence' } },
    orderBy: { id: 'asc' },
  })
  expect(audited.map(({ actorType, action }) => [actorType, action])).toEqual([
    ['token', 'dispute.evidence_added'],
    ['token', 'dispute.evidence_added'],
    ['user', 'dispute.evidence_downloaded'],
  ])
  expect(audited[2]).toMatchObject({
    target: path.split('/')[2],
    after: { evidence: second.body.data.id },
  })
})

test('a file of 5 MB is stored as it was sent, and one byte more is refused', async () => {
  const file = pdf(FILE_BYTES_MAX)
  const sent = await post(`${path}/evidence`, { file: base64(file), file_name: 'a.pdf' })
  expect(sent.body.data).toMatchObject({ file_type: 'application/pdf', file_bytes: FILE_BYTES_MAX })
  const stored = await db().disputeEvidence.findFirstOrThrow({ where: { accountId: merchant.id } })
  expect(Buffer.from(stored.file ?? []).equals(file)).toBe(true)
  for (const length of [FILE_BYTES_MAX + 1, FILE_BYTES_MAX + 10]) {
    const more = { file: base64(pdf(length)), file_name: 'a.pdf' }
    const refused = await post(`${path}/evidence`, more)
    expect(refused.status).toBe(422)
    expect(refused.body.errors).toEqual({ file: ['file must have at most 5 MB'] })
  }
  expect(await countStored()).toBe(1)
})

test.each([
  ['nothing', {}, 'text', 'be given, or a file'],
  ['an empty text', { text: ' ' }, 'text', 'have 1 to 2000 characters'],
  [
    'a file of another type',
    { file: base64('<html>%PDF-'), file_name: 'a.pdf' },
    'file',
    'be a PDF',
  ],
  ['a file in another form', { file: '%PDF', file_name: 'a.pdf' }, 'file', 'be a file in base64'],
  ['a file without a name', { file: base64('%PDF-') }, 'file_name', 'be given with a file'],
  ['a name without a file', { text: 'a', file_name: 'a' }, 'file_name', 'be given with a file'],
  ['a text with a bell', { text: 'a\u0007' }, 'text', 'contain no control characters'],
])('%s is refused with the name of the field', async (_, body, field, rule) => {
  const refused = await post(`${path}/evidence`, body)
  expect(refused.status).toBe(422)
  expect(refused.body.errors).toEqual({ [field]: [expect.stringContaining(`must ${rule}`)] })
  expect(await countStored()).toBe(0)
})

test('of several that are sent at once, no more than the limit are stored', async () => {
  const bodies = Array.from({ length: EVIDENCE_MAX + 2 }, (_, number) => ({ text: `${number}` }))
  const responses = await Promise.all(bodies.map(body => post(`${path}/evidence`, body)))
  const refused = responses.filter(({ status }) => status === 422)
  expect(refused.map(({ body }) => Object.keys(body.errors))).toEqual([['text'], ['text']])
  expect(await countStored()).toBe(EVIDENCE_MAX)
})

test('files are read two at a time for an account, since each takes memory', async () => {
  const begin = () => {
    const request = httpRequest(`${api.url}/api${path}/evidence`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': 5_000_000,
        expect: '100-continue',
      },
    })
    onTestFinished(() => void request.destroy())
    request.on('error', () => {})
    request.flushHeaders()
    return request
  }
  const invited = [begin(), begin()]
  await Promise.all(invited.map(request => once(request, 'continue')))
  const [refused] = (await once(begin(), 'response')) as [IncomingMessage]
  expect(refused.statusCode).toBe(429)
  const [first] = invited
  first?.destroy()
  await once(begin(), 'continue')
})

test('evidence that is sent again with its key is stored once', async () => {
  const headers = { 'idempotency-key': newId() }
  const [first, again] = [
    await post(`${path}/evidence`, { text: 'a' }, headers),
    await post(`${path}/evidence`, { text: 'a' }, headers),
  ]
  expect(again.body).toEqual(first.body)
  expect(await countStored()).toBe(1)
})

test('a dispute that has a defense or has ended takes no evidence, and keeps what it has', async () => {
  const { body } = await post(`${path}/evidence`, { text: 'a' })
  const id = path.split('/')[2] ?? ''
  const secret = await signInAdmin()
  const answered = await call(api.url, 'POST', `/admin/accounts/${merchant.id}${path}/answer`, {
    headers: personHeaders(secret),
    body: { text: 'Contestamos.' },
  })
  expect(answered.body).toEqual({ data: { state: 'taken' } })
  expect((await post(`${path}/evidence`, { text: 'b' })).body.error).toBe(
    'Dispute is already answered',
  )
  await post(`/sandbox/disputes/${id}`, { outcome: 'won' })
  expect((await post(`${path}/evidence`, { text: 'b' })).body.error).toBe('Dispute is already won')
  expect((await get(`${path}/evidence`)).body.data).toEqual([body.data])
})

test('nobody else reads the evidence or adds any', async () => {
  const sent = await post(`${path}/evidence`, { file: base64('%PDF-'), file_name: 'a' })
  const other = await makeToken((await makeMerchant()).id)
  for (const from of [`${path}/evidence`, `${path}/evidence/${sent.body.data.id}`])
    expect((await get(from, other)).body).toEqual(NOT_FOUND)
  const body = { text: 'a' }
  const added = await call(api.url, 'POST', `${path}/evidence`, { token: other, body })
  expect(added.body).toEqual(NOT_FOUND)
  expect(await countStored()).toBe(1)
})
