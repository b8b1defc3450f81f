import { beforeAll, expect, test } from 'vitest'
import { Prisma } from '#lib/base/db/client.ts'
import type { IdempotentRequest } from '#lib/base/db/idempotency.ts'
import { newId } from '#lib/base/ids.ts'
import { closeCharge, closeUnreported } from '#lib/rooms/charges/close.ts'
import { createCharge } from '#lib/rooms/charges/create.ts'
import { chargeColumns } from '#lib/rooms/charges/queries.ts'
import { createRefund } from '#lib/rooms/charges/refunds/create.ts'
import { completeRefund, rejectRefund } from '#lib/rooms/charges/refunds/settle.ts'
import { settleCharges } from '#lib/rooms/charges/settle.ts'
import { simulateCharge } from '#lib/rooms/charges/simulate.ts'
import { findRememberedCaller } from '#lib/rooms/tokens/recall.ts'
import { verifyToken } from '#lib/rooms/tokens/verify.ts'
import { insertWithdrawal } from '#lib/rooms/withdrawals/insert.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/rooms/withdrawals/settle.ts'
import { CHARGE, makeMerchant, makeToken, openCharge } from '#lib/testing/fixtures.ts'
import { formatStatement, recordStatements } from '#lib/testing/statements.ts'

let merchant: Awaited<ReturnType<typeof makeMerchant>>
let token: string
let paidId: string
let withdrawal: { accountId: string; withdrawalId: string }
let refund: { accountId: string; refundId: string; chargeColumns: Prisma.Sql }
beforeAll(async () => {
  merchant = await makeMerchant()
  token = await makeToken(merchant.id)
  await verifyToken(token)
  paidId = (await openCharge(merchant, 10_000)).id
  await simulateCharge(merchant.id, paidId, 'paid')
  withdrawal = { accountId: merchant.id, withdrawalId: newId() }
  refund = { accountId: merchant.id, refundId: newId(), chargeColumns }
})

function once(): IdempotentRequest {
  const requestHash = new Uint8Array(32)
  const scope = { accountId: merchant.id, mode: 'test', path: '/', key: newId() } as const
  return { ...scope, requestHash, keptS: 60, id: newId(), resumed: false }
}

const ORDER = {
  amount: 1_000,
  pixKeyType: 'email',
  pixKey: 'a@example.com',
  dictKey: 'a@example.com',
} as const

const VERBS: Record<string, Record<string, () => Promise<unknown>>> = {
  'charges/insert': {
    'a charge': () => openCharge(merchant),
    'a charge, with an Idempotency-Key': () => createCharge(merchant, 'test', CHARGE, null, once()),
    'a charge, for a remembered token': () => {
      const { proof } = findRememberedCaller(token) ?? expect.unreachable()
      return createCharge({ ...merchant, ref: { id: merchant.id, proof } }, 'test', CHARGE, null)
    },
  },
  'charges/settle': {
    'charges that were paid': () =>
      settleCharges([
        { accountId: merchant.id, chargeId: newId(), endToEndId: 'E1', paidAt: new Date() },
      ]),
  },
  'charges/close': {
    'a charge that expired or failed': () => closeCharge(merchant.id, newId(), 'failed'),
    'charges that no worker holds': () =>
      closeUnreported([{ accountId: merchant.id, chargeId: newId() }], Prisma.sql`true`),
  },
  'charges/refunds/create': {
    'a refund, for a program': () => createRefund(merchant.id, 'test', paidId, { amount: 100 }),
    'a refund, for a member, with an Idempotency-Key': () =>
      createRefund(merchant.id, 'test', paidId, { amount: 100, by: newId() }, once()),
  },
  'charges/refunds/settle': {
    'a refund that the bank sent': () => completeRefund({ ...refund, returnId: 'D1' }),
    'a refund that the bank refused': () => rejectRefund({ ...refund, reason: 'Account closed' }),
  },
  'withdrawals/insert': {
    'a withdrawal, for a program': () => insertWithdrawal(merchant.id, 'test', ORDER),
    'a withdrawal, for a member, with an Idempotency-Key': () =>
      insertWithdrawal(merchant.id, 'test', { ...ORDER, by: newId() }, once()),
  },
  'withdrawals/settle': {
    'a withdrawal that the bank sent': () => approveWithdrawal({ ...withdrawal, endToEndId: 'E1' }),
    'a withdrawal that the bank refused': () =>
      rejectWithdrawal({ ...withdrawal, reason: 'Key not found' }),
  },
}

test.each(Object.keys(VERBS))(
  'lib/rooms/%s.sql is the SQL that the verb sends, one statement per call',
  async verb => {
    const parts: string[] = []
    for (const [call, work] of Object.entries(VERBS[verb] ?? {})) {
      const sent = await recordStatements(work)
      expect(sent, call).toHaveLength(1)
      parts.push(`-- ${call}\n${formatStatement(sent[0] ?? '')}`)
    }
    await expect(parts.join('\n')).toMatchFileSnapshot(`../rooms/${verb}.sql`)
  },
)

test('a statement is formatted with one clause per line, whatever its source looks like', () => {
  const source = `WITH a AS ( SELECT x,
      (SELECT max(y) FROM t WHERE z) AS y FROM t ORDER BY x FOR UPDATE OF t ) SELECT 'a  b' FROM a`
  expect(formatStatement(source)).toBe(`WITH a AS (
  SELECT x, (SELECT max(y) FROM t WHERE z) AS y
  FROM t
  ORDER BY x
  FOR UPDATE OF t
)
SELECT 'a  b'
FROM a;
`)
})
