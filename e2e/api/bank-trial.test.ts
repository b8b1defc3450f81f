import { afterAll, beforeAll, expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { type Api, inOwnDatabase, startApi } from '#lib/testing/fixtures.ts'
import { personHeaders, signInAdmin } from '#lib/testing/member.ts'

inOwnDatabase()

let api: Api
let headers: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  headers = { ...personHeaders(await signInAdmin()), 'content-type': 'application/json' }
})
afterAll(() => api.close())

const read = (id: string) => call(api.url, 'GET', `/admin/banks/${id}/trial`, { headers })
const begin = (id: string, body: object) =>
  call(api.url, 'POST', `/admin/banks/${id}/trial`, { headers, body })

test('staff begins a trial once, is told each step, and is in the audit log', async () => {
  const id = await addConnection(new StubBank())
  expect((await read(id)).body).toEqual({ data: { needs_key: true, latest: null } })
  expect(await begin(id, {})).toMatchObject({
    status: 422,
    body: { errors: { pix_key: [expect.stringContaining('one cent goes to it')] } },
  })
  const begun = await begin(id, { pix_key: ' Ana@Example.com ' })
  expect([begun.status, begun.body.data]).toMatchObject([
    200,
    {
      needs_key: true,
      latest: { status: 'running', amount: 3, mode: 'live', key: 'a***@example.com' },
    },
  ])
  expect(begun.body.data.latest.steps).toHaveLength(5)
  const again = await begin(id, { pix_key: 'ana@example.com' })
  expect(again.body.data.latest.id).toBe(begun.body.data.latest.id)
  expect((await begin(id, { pix_key: 'bea@example.com' })).status).toBe(409)
  expect((await read(id)).body).toEqual(again.body)
  const records = await db().auditRecord.findMany({ where: { target: id } })
  expect(records).toMatchObject([
    {
      action: 'connection.trial_begun',
      actorType: 'user',
      after: { mode: 'live', amount: 3, pays_out: true },
    },
  ])
})

test('nothing but an open connection that receives is tried', async () => {
  for (const id of [newId(), SIMULATOR_CONNECTION_ID, 'no-id']) {
    expect((await read(id)).status).toBe(404)
    expect((await begin(id, {})).status).toBe(404)
  }
  const closed = { disabledAt: new Date(), isAssignable: false }
  const key = { pix_key: 'ana@example.com' }
  expect((await begin(await addConnection(new StubBank(), closed), key)).status).toBe(409)
  const sender = await addConnection(new StubBank(), { receivingKeys: [] })
  expect((await begin(sender, key)).status).toBe(422)
})
