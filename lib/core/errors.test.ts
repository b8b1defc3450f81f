import { describe, expect, test } from 'vitest'
import { createCharge } from '#lib/charges/create.ts'
import {
  isDatabaseUnavailable,
  isTrocoError,
  parseDatabaseError,
  parseDatabaseRefusal,
  TrocoError,
} from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { connect, db, Prisma, pool } from '#lib/db/client.ts'
import { withOwner } from '#lib/testing/database.ts'
import { CANARY, CHARGE, makeMerchant } from '#lib/testing/fixtures.ts'

function catchError(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.unreachable('it was not refused'),
    error => error,
  )
}

describe('a TrocoError', () => {
  test('is recognized by name and code, even if its class was loaded twice', () => {
    const twin = class extends Error {
      override name = 'TrocoError'
      code = 'not_found'
    }
    expect(isTrocoError(new TrocoError('not_found', 'No'))).toBe(true)
    expect(isTrocoError(new twin('No'))).toBe(true)
    for (const other of [new Error('No'), { name: 'TrocoError' }, null, undefined, 'TrocoError']) {
      expect(isTrocoError(other)).toBe(false)
    }
  })

  test('has fields, permission and cause', () => {
    const cause = new Error('why')
    const fields = { amount: ['Insufficient balance'] }
    const error = new TrocoError('permission_denied', 'No', { fields, permission: 'x', cause })
    expect(error).toMatchObject({ code: 'permission_denied', fields, permission: 'x', cause })
  })
})

describe('the information read from a database error', () => {
  const payer = { ...CHARGE, client_doc: CANARY.formattedDocument, external_id: 'one' }

  function insertInvalidCharge(accountId: string, column: 'amount' | 'status') {
    const id = newId()
    const amount = column === 'amount' ? 1 : 1_000
    const status = column === 'status' ? 'lost' : 'pending'
    return db().$executeRaw`
      INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
        client_name, client_email, client_doc, expires_at)
      VALUES (${accountId}::uuid, ${id}::uuid, 'test', ${status}, ${amount}::bigint, ${id}, ${id},
        '-', '-', '-', ${CANARY.document}, now())`
  }

  test('names the violated CHECK constraint and contains no row data', async () => {
    const merchant = await makeMerchant()
    const [amount, status] = [
      await catchError(insertInvalidCharge(merchant.id, 'amount')),
      await catchError(insertInvalidCharge(merchant.id, 'status')),
    ]
    expect(parseDatabaseError(amount)).toMatchObject({
      code: '23514',
      constraint: 'charges_amount_range',
    })
    expect(parseDatabaseError(status)).toMatchObject({ constraint: 'charges_status_known' })
    expect(JSON.stringify([parseDatabaseError(amount), parseDatabaseError(status)])).not.toContain(
      CANARY.document,
    )
  })

  test('has the code of a unique violation, by SQL and by Prisma, and no row data', async () => {
    const merchant = await makeMerchant()
    await createCharge(merchant, 'test', payer, null)
    const bySql = await catchError(
      withOwner(
        owner => owner.$executeRaw`INSERT INTO event_sequences (account_id, mode)
        VALUES (${merchant.id}::uuid, 'test')`,
      ),
    )
    expect(parseDatabaseError(bySql).code).toBe('23505')
    const byPrisma = await catchError(
      withOwner(owner =>
        owner.eventSequence.create({ data: { accountId: merchant.id, mode: 'test' } }),
      ),
    )
    expect(parseDatabaseError(byPrisma).code).toMatch(/^(23505|P2002)$/)
    for (const error of [bySql, byPrisma]) {
      expect(JSON.stringify(parseDatabaseError(error))).not.toContain(merchant.id)
      expect(isDatabaseUnavailable(error)).toBe(false)
    }
  })

  test('is empty for other values and for cyclic causes', () => {
    const ring: { cause?: unknown } = {}
    ring.cause = ring
    const nothing = { code: undefined, constraint: undefined, table: undefined }
    for (const error of [undefined, null, 'text', 7, new Error('text'), ring]) {
      expect(parseDatabaseError(error)).toEqual(nothing)
      expect(isDatabaseUnavailable(error)).toBe(false)
    }
  })
})

test('a refusal by the database is read from the pool and from the ORM, and no other message', async () => {
  const refusing = Prisma.sql`SELECT troco_refuse('above_left', json_build_object('left', 5))`
  for (const call of [pool().query(refusing.text), db().$queryRaw(refusing)])
    expect(parseDatabaseRefusal(await catchError(call))).toEqual({
      code: 'above_left',
      params: { left: 5 },
    })
  expect(parseDatabaseRefusal(await catchError(db().$queryRaw`SELECT 1 / 0`))).toBeNull()
})

describe('the database counts as unavailable', () => {
  test('if no process listens on its port', async () => {
    const unreachable = connect({ url: 'postgresql://troco:x@127.0.0.1:9/troco', poolMax: 1 })
    expect(isDatabaseUnavailable(await catchError(unreachable.$queryRaw`SELECT 1`))).toBe(true)
    await unreachable.$disconnect()
  })

  test('if it terminates the connection', async () => {
    const dying = connect({ poolMax: 1 })
    const terminated = dying.$queryRaw`SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(1)`
    expect(isDatabaseUnavailable(await catchError(terminated))).toBe(true)
    expect(await dying.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }])
    await dying.$disconnect()
  })

  test('if no connection becomes free in time', async () => {
    const smallPool = connect({ poolMax: 1, connectTimeoutMs: 500 })
    // Its role may cut it, later than the pool gives up.
    const longQuery = smallPool.$queryRaw`SELECT 1 FROM pg_sleep(2)`.catch(error => error)
    expect(isDatabaseUnavailable(await catchError(smallPool.$queryRaw`SELECT 1`))).toBe(true)
    await longQuery
    await smallPool.$disconnect()
  })

  test.each(['53000', '53100', '53200', '53300', '53400', '58030', '25006'])(
    'if it lacks disk, memory, connections or write access: %s',
    async code => {
      const raise = `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END $$`
      const byOrm = await catchError(db().$executeRaw(Prisma.raw(raise)))
      const byPool = await catchError(pool().query(raise))
      expect([byOrm, byPool].map(isDatabaseUnavailable)).toEqual([true, true])
    },
  )

  test('but not if it rejects a statement', async () => {
    const refused = await catchError(db().$queryRaw`SELECT 1 / 0`)
    expect(parseDatabaseError(refused).code).toBe('22012')
    expect(isDatabaseUnavailable(refused)).toBe(false)
  })
})

test.each([
  'new row for relation "charges" violates check constraint "charges_amount_range"',
  'a nova linha da relação "charges" viola a restrição de verificação "charges_amount_range"',
  'neue Zeile für Relation »charges« verletzt Check-Constraint »charges_amount_range«',
  'une ligne viole la contrainte « charges_amount_range »',
])('the violated CHECK is found in every language of the server: %s', message => {
  const error = { cause: { originalCode: '23514', originalMessage: message } }
  expect(parseDatabaseError(error).constraint).toBe('charges_amount_range')
})
