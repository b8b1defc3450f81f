import { afterAll, expect, test } from 'vitest'
import { recordAudit } from '#lib/audit/record.ts'
import { newId } from '#lib/core/ids.ts'
import { withLogContext } from '#lib/core/log.ts'
import { db, disconnect, transaction } from '#lib/db/client.ts'

afterAll(disconnect)

const ACTOR = { type: 'system' } as const

test('an action in a request stores the IP address and request id; on the command line both are null', async () => {
  const [byRequest, byCommandLine] = [newId(), newId()]
  const record = (target: string) =>
    transaction(tx => recordAudit(tx, { actor: ACTOR, action: 'demo.made', target }))
  await withLogContext({ requestId: 'a-request', ip: '203.0.113.7' }, () => record(byRequest))
  await record(byCommandLine)
  const findRecord = (target: string) => db().auditRecord.findFirstOrThrow({ where: { target } })
  expect(await findRecord(byRequest)).toMatchObject({ ip: '203.0.113.7', requestId: 'a-request' })
  expect(await findRecord(byCommandLine)).toMatchObject({ ip: null, requestId: null })
})

test('an action that is rolled back leaves no record', async () => {
  const target = newId()
  const undone = transaction(async tx => {
    await recordAudit(tx, { actor: ACTOR, action: 'demo.made', target })
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  expect(await db().auditRecord.count({ where: { target } })).toBe(0)
})
