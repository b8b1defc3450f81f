import { beforeAll, expect, test } from 'vitest'
import { memberLock } from '#lib/accounts/members.ts'
import { closeCancelled, closeCharge, closeUnreported } from '#lib/charges/close.ts'
import { createCharge } from '#lib/charges/create.ts'
import { settleCharges } from '#lib/charges/receive.ts'
import { completeRefund, createRefund, rejectRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import type { Authority } from '#lib/db/sql.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import {
  CHARGE,
  makeIdempotentRequest,
  makeMerchant,
  makeToken,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { recordStatements } from '#lib/testing/statements.ts'
import { authenticateToken, tokenProof } from '#lib/tokens/authenticate.ts'
import { insertWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

let merchant: Awaited<ReturnType<typeof makeMerchant>>
let member: { id: string; lockMember: ReturnType<typeof memberLock> }
let program: Authority
let paidId: string
let withdrawal: { accountId: string; withdrawalId: string }
let refund: { accountId: string; refundId: string }
beforeAll(async () => {
  merchant = await makeMerchant()
  const accountId = merchant.id
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId } })
  member = { id: accountId, lockMember: memberLock({ accountId, userId }, 'owner') }
  const caller = (await authenticateToken(await makeToken(accountId))) ?? expect.unreachable()
  program = { id: accountId, proof: () => tokenProof(caller), proven: caller.proven }
  paidId = (await openCharge(merchant, 10_000)).id
  await simulateCharge(merchant.id, paidId, 'paid')
  withdrawal = { accountId: merchant.id, withdrawalId: newId() }
  refund = { accountId: merchant.id, refundId: newId() }
})

const once = () => makeIdempotentRequest(merchant.id)

const ORDER = {
  amount: 1_000,
  pixKeyType: 'email',
  pixKey: 'a@example.com',
  dictKey: 'a@example.com',
} as const

const CALLS: Record<string, Record<string, () => Promise<unknown>>> = {
  'charges/insert': {
    'a charge': () => openCharge(merchant),
    'a charge, with an Idempotency-Key': () => createCharge(merchant, 'test', CHARGE, null, once()),
  },
  'charges/settle': {
    'charges that were paid': () =>
      settleCharges([
        {
          accountId: merchant.id,
          chargeId: newId(),
          endToEndId: 'E1',
          amount: 1,
          paidAt: new Date(),
        },
      ]),
  },
  'charges/close': {
    'a charge that expired or failed': () => closeCharge(merchant.id, newId(), 'failed'),
    'a charge that a member cancelled': () => {
      const charge = { accountId: merchant.id, chargeId: newId(), by: newId() }
      return closeCancelled(charge, Prisma.sql`NULL`)
    },
    'charges that no worker holds': () =>
      closeUnreported([{ accountId: merchant.id, chargeId: newId() }], Prisma.sql`true`),
  },
  'charges/refunds/create': {
    'a refund, for a program': () => createRefund(program, 'test', paidId, { amount: 100 }),
    'a refund, for a member, with an Idempotency-Key': () =>
      createRefund(member, 'test', paidId, { amount: 100, by: newId() }, once()),
  },
  'charges/refunds/order': {
    'a refund that the bank sent': () => completeRefund({ ...refund, returnId: 'D1' }),
    'a refund that the bank refused': () => rejectRefund({ ...refund, reason: REFUSAL }),
  },
  'withdrawals/insert': {
    'a withdrawal, for a program': () => insertWithdrawal(program, 'test', ORDER),
    'a withdrawal, for a member, with an Idempotency-Key': () =>
      insertWithdrawal(member, 'test', { ...ORDER, by: newId() }, once()),
  },
  'withdrawals/outcome': {
    'a withdrawal that the bank sent': () => approveWithdrawal({ ...withdrawal, endToEndId: 'E1' }),
    'a withdrawal that the bank refused': () =>
      rejectWithdrawal({ ...withdrawal, reason: REFUSAL }),
  },
}

/** Tables that a statement about money names, whatever else it reads. */
const MONEY =
  /\b(accounts|charges|refunds|withdrawals|tokens|events|ledger_\w+|booked_payments|bank_orders|idempotency_keys)\b/

test.each(Object.entries(CALLS))(
  'each call of %s sends one statement about money',
  async (_, calls) => {
    for (const [title, call] of Object.entries(calls)) {
      const sent = await recordStatements(call)
      expect(
        sent.filter(text => MONEY.test(text)),
        title,
      ).toHaveLength(1)
    }
  },
)
