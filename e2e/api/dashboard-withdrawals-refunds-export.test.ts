import { afterAll, beforeAll, expect, test } from 'vitest'
import { EXPORT_END } from '#lib/dashboard/schema.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { makeWorld, type World } from '#lib/testing/world.ts'

let api: Api
let world: World
let headers: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  world = await makeWorld(api)
  headers = pageHeaders(await signIn(world.merchant, 'viewer'), world.merchant.id)
})
afterAll(() => api.close())

async function readExport(subject: string, query: string, as = headers): Promise<string[]> {
  const response = await fetch(`${api.url}/api/dashboard/${subject}/export?${query}`, {
    headers: as,
  })
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  // text() would remove the BOM.
  const text = Buffer.from(await response.arrayBuffer()).toString('utf8')
  expect(text.startsWith('\uFEFF')).toBe(true)
  const lines = text.split('\r\n')
  expect(lines.pop()).toBe(`${EXPORT_END}${lines.length - 1}`)
  return lines
}

test('withdrawals are exported with masked keys, local times and filters, newest first', async () => {
  const { payout: paid } = world
  const createdAt = new Date('2026-03-10T01:30:05Z')
  const data = { externalId: '=1+1', payeeName: 'Ana; "Bia"', createdAt }
  await db().withdrawal.updateMany({ where: { id: paid }, data })
  const [head, first = '', second = ''] = await readExport('withdrawals', 'locale=pt-BR')
  expect(head).toContain('Referência;Situação;Valor;Devolvido;Tipo da chave;Chave Pix;Quem recebe;')
  expect(first).toMatch(/^'=1\+1;Enviado;10,00;0,00;E-mail;[^;]*\*[^;]*;"Ana; ""Bia""";/)
  expect(first).toContain(';09/03/2026 22:30:05;')
  expect(first).not.toContain('hold@')
  expect(second).toContain(';Em processamento;10,00;')
  expect(second).toContain(world.withdrawal)
  const [, ...pending] = await readExport('withdrawals', 'locale=en&status=pending')
  expect(pending.map(line => line.split(',').at(-1))).toEqual([world.withdrawal])
  expect(pending[0]).toContain(',Processing,10.00,')
  expect(await readExport('withdrawals', `locale=en&q=${world.withdrawal}`)).toHaveLength(2)
})

test('refunds are exported with their charge and payer, as text that is no formula', async () => {
  const data = { reason: '@SUM(A1)\r\nx' }
  await db().refund.updateMany({ where: { id: world.refund }, data })
  const [head, ...lines] = await readExport('refunds', 'locale=pt-BR')
  const line = lines.find(text => text.includes(world.refund)) ?? ''
  expect(head).toContain('Referência;Pagador;Situação;Valor;Motivo;Solicitada em;')
  expect(line).toMatch(/ x;Ana plain;(Pendente|Concluída);1,00;'@SUM\(A1\) x;/)
  expect(line).toContain(`;${world.paid};${world.refund}`)
  expect(lines).toHaveLength(2)
  expect(await readExport('refunds', 'locale=en&status=rejected')).toHaveLength(1)
  expect(await readExport('refunds', 'locale=en&created_to=2020-01-01')).toHaveLength(1)
})

test.each(['charges', 'withdrawals', 'refunds'])(
  'an export of %s holds the rows of the chosen period only',
  async subject => {
    const atOffset = (ms: number) => new Date(Date.now() + ms).toISOString()
    const [hourAgo, inAnHour] = [atOffset(-3_600_000), atOffset(3_600_000)]
    const within = await readExport(subject, `locale=en&created_from=${hourAgo}`)
    expect(within.length).toBeGreaterThan(1)
    const both = `locale=en&created_from=${hourAgo}&created_to=${inAnHour}`
    expect(await readExport(subject, both)).toEqual(within)
    expect(await readExport(subject, `locale=en&created_from=${inAnHour}`)).toHaveLength(1)
    expect(await readExport(subject, 'locale=en&created_to=2020-01-01')).toHaveLength(1)
  },
)

test.each(['withdrawals', 'refunds'])(
  'an export of %s is audited, of one account, and for sessions only',
  async subject => {
    const path = `/dashboard/${subject}/export`
    await readExport(subject, 'locale=en&status=pending')
    const record = await db().auditRecord.findFirstOrThrow({
      where: { accountId: world.merchant.id, action: `${subject}.exported` },
      orderBy: { id: 'desc' },
    })
    expect(record.after).toEqual({ status: 'pending', mode: 'test' })
    const stranger = await makeMerchant()
    const theirs = pageHeaders(await signIn(stranger, 'owner'), stranger.id)
    expect(await readExport(subject, 'locale=en', theirs)).toHaveLength(1)
    const byToken = await call(api.url, 'GET', `${path}?locale=en`, { token: world.token })
    expect(byToken.status).toBe(403)
    for (const query of ['', 'locale=fr', 'locale=en&status=open']) {
      expect((await call(api.url, 'GET', `${path}?${query}`, { headers })).status, query).toBe(422)
    }
  },
)

test('the list of withdrawals names the receiver that the bank has named, masked', async () => {
  const payee = { payeeName: 'Ana Rocha', payeeDoc: '***.982.247-**' }
  await db().withdrawal.updateMany({ where: { id: world.payout }, data: payee })
  const list = async (query: string, as = headers) =>
    (await call(api.url, 'GET', `/dashboard/withdrawals${query}`, { headers: as })).body
  const { data } = await list('')
  const paid = data.find(({ id }: { id: string }) => id === world.payout)
  expect(paid).toMatchObject({
    status: 'approved',
    payee: { name: 'Ana Rocha', masked_doc: '***.982.247-**' },
  })
  expect(Object.keys(paid)).not.toContain('owner_doc')
  const { data: waiting } = await list('?status=pending')
  expect(waiting).toMatchObject([{ id: world.withdrawal, payee: null }])
  const other = await makeMerchant()
  const strange = pageHeaders(await signIn(other, 'owner'), other.id)
  expect((await list('', strange)).data).toEqual([])
})
