import { afterAll, expect, test } from 'vitest'
import { db, disconnect, Prisma } from '#lib/base/db/client.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { newId } from '#lib/base/ids.ts'
import { bookMovement, recordEvent } from '#lib/services/booking/book.ts'

afterAll(disconnect)

const made = Prisma.sql`SELECT NULL::uuid AS account_id, 'test' AS mode, NULL::uuid AS id,
  100::bigint AS amount, NULL::timestamptz AS booked_at, NULL::uuid AS connection_id WHERE false`
const from = Prisma.sql`made m`
const returning = Prisma.sql`json_build_object('id', m.id)`
const movedColumns = columnsOf('m', ['account_id', 'mode', 'id', 'amount', 'booked_at'])
const externalColumns = { ...movedColumns, ...columnsOf('m', ['connection_id']) }

test('a source without a column that its movement or event reads does not compile', async () => {
  const { amount: _, ...columns } = externalColumns
  const withoutAmount = bookMovement({
    ctes: { made },
    // @ts-expect-error A movement reads the amount.
    source: { from, columns },
    movement: 'charge_paid',
    returning,
  })
  const withoutConnection = bookMovement({
    ctes: { made },
    // @ts-expect-error A movement on `external` names its connection.
    source: { from, columns: movedColumns },
    movement: 'charge_paid',
    returning,
  })
  // @ts-expect-error An event reads its id, subject, URL and resource.
  const withoutEvent = bookMovement({
    ctes: { made },
    source: { from, columns: externalColumns },
    movement: 'charge_paid',
    event: 'transaction.paid',
    returning,
  })
  const eventAlone = recordEvent({
    ctes: { made },
    // @ts-expect-error Without a movement, an event reads the same columns.
    source: { from, columns: movedColumns },
    event: 'transaction.paid',
    returning,
  })
  for (const statement of [withoutAmount, withoutConnection, withoutEvent, eventAlone]) {
    await expect(db().$queryRaw(statement)).rejects.toThrow(/column .* does not exist/)
  }
})

test.each([
  ['only the movement', {}],
  ['an action of a member', { audit: { action: 'withdrawal.requested', by: newId() } as const }],
  ['an action of a token', { audit: { action: 'withdrawal.requested', by: null } as const }],
  ['an omitted part', { ctes: { made, unused: null } }],
])('a statement is valid SQL with %s', async (_what, parts) => {
  const movement = 'withdrawal_held'
  const source = { from, columns: movedColumns }
  const statement = bookMovement({ ctes: { made }, source, movement, returning, ...parts })
  expect(await db().$queryRaw(statement)).toEqual([])
})
