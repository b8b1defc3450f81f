import { Client } from 'pg'
import { expect, test, vi } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { limitAccount } from '#lib/accounts/settings.ts'
import { limitConnection } from '#lib/banks/connections.ts'
import { isTrocoError, parseDatabaseError } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db } from '#lib/db/client.ts'
import { isKeyStored } from '#lib/db/idempotency.ts'
import type { Authority } from '#lib/db/sql.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, fundLive } from '#lib/testing/connection.ts'
import { withClient } from '#lib/testing/due-deliveries.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeIdempotentRequest,
  makeMerchant,
  makeToken,
} from '#lib/testing/fixtures.ts'
import { signIn } from '#lib/testing/member.ts'
import fc from '#lib/testing/property.ts'
import { untilLocked } from '#lib/testing/waiting.ts'
import { authenticateToken, tokenProof } from '#lib/tokens/authenticate.ts'
import { insertWithdrawal } from '#lib/withdrawals/create.ts'

// A database of its own: requests wait for its locks.
inOwnDatabase()

const RUN_COUNT = Number(process.env.MODEL_RUNS || 8)
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

const ACTOR = { type: 'system' } as const
/** Of the day in São Paulo; a sum of another day would not include ids that are made now. */
const TODAY = new Date(Date.now() - 3 * 3_600_000).toISOString().slice(0, 10)
const [NOON, EVENING] = [new Date(`${TODAY}T12:00:00-03:00`), new Date(`${TODAY}T23:00:00-03:00`)]

interface Asked {
  amount: number
  reference: number | null
  key: number | null
  isRevoked: boolean
}

interface Rules {
  mode: Mode
  funds: number
  isNight: boolean
  withdrawalMax: number | null
  nightMax: number | null
  dayMax: number | null
  payoutMax: number | null
  payoutDayMax: number | null
  approvalAbove: number | null
  approvalDayAbove: number | null
}

const limit = (values: number[]) => fc.option(fc.constantFrom(...values))
const rules: fc.Arbitrary<Rules> = fc.record({
  mode: fc.constantFrom('test', 'live'),
  funds: fc.constantFrom(20_000, 200_000, 1_000_000),
  isNight: fc.boolean(),
  withdrawalMax: limit([4_000]),
  nightMax: limit([15_000]),
  dayMax: limit([30_000]),
  payoutMax: limit([3_000]),
  payoutDayMax: limit([20_000]),
  approvalAbove: limit([3_000]),
  approvalDayAbove: limit([10_000]),
})
const asked: fc.Arbitrary<Asked> = fc.record({
  amount: fc.constantFrom(1_000, 1_500, 2_000, 3_500, 5_000, 30_000),
  reference: fc.option(fc.nat(30), { freq: 2 }),
  key: fc.option(fc.nat(30), { freq: 2 }),
  isRevoked: fc.integer({ min: 0, max: 9 }).map(share => share === 0),
})

/** Of the limits that a request exceeds, the one that frees last: never, at six in the morning, at midnight. */
function exceeded(rules: Omit<Rules, 'mode'>, amount: number, total: number): string | null {
  const isAbove = (sum: number, max: number | null) => max !== null && sum > max
  const { withdrawalMax, nightMax, dayMax, payoutMax, payoutDayMax } = rules
  if (isAbove(amount, withdrawalMax)) return 'account_withdrawal'
  if (isAbove(amount, payoutMax)) return 'connection_withdrawal'
  if (isAbove(amount, dayMax)) return 'account_day'
  if (isAbove(amount, payoutDayMax)) return 'connection_day'
  if (rules.isNight && isAbove(total, nightMax)) return 'account_night'
  if (isAbove(total, dayMax)) return 'account_day'
  return isAbove(total, payoutDayMax) ? 'connection_day' : null
}

/** What becomes of requests that come one after the other: each refused, waiting for approval or made. */
function* predict({ mode, ...rules }: Rules, requests: Asked[]): Generator<string> {
  const isAbove = (amount: number, max: number | null) => max !== null && amount > max
  const references = new Set<number | null>()
  const keys = new Set<number | null>()
  let sum = 0
  for (const { amount, reference, key, isRevoked } of requests) {
    const total = sum + amount
    if (isRevoked) yield 'TR401'
    else if (reference !== null && references.has(reference)) yield 'external_id_used'
    else if (key !== null && keys.has(key)) yield 'key is stored'
    else if (total > rules.funds) yield 'insufficient_balance'
    else if (mode === 'live' && exceeded(rules, amount, total))
      yield exceeded(rules, amount, total) ?? ''
    else {
      sum = total
      references.add(reference)
      keys.add(key)
      if (isAbove(amount, rules.approvalAbove)) yield 'amount'
      else yield isAbove(total, rules.approvalDayAbove) ? 'day_amount' : 'made'
    }
  }
}

async function makeRuledMerchant(
  rules: Rules,
): Promise<{ merchant: Account; connectionId?: string }> {
  const merchant = await makeMerchant()
  for (const role of ['owner', 'finance'] as const) await signIn(merchant, role)
  const connectionId = await connectBank(new StubBank(), merchant)
  await (rules.mode === 'live' ? fundLive : fundMerchant)(merchant, rules.funds)
  const { withdrawalMax, nightMax, dayMax, payoutMax, payoutDayMax } = rules
  const limits = { withdrawal_max: withdrawalMax, night_max: nightMax, day_max: dayMax }
  await limitAccount(merchant.id, { charge_max: null, ...limits }, ACTOR)
  const ofConnection = { payout_max: payoutMax, payout_day_max: payoutDayMax }
  await limitConnection(connectionId, ofConnection, ACTOR)
  const { approvalAbove, approvalDayAbove } = rules
  const data = { approvalNewKeys: false, approvalAbove, approvalDayAbove }
  await db().account.update({ where: { id: merchant.id }, data })
  return rules.mode === 'live' ? { merchant, connectionId } : { merchant }
}

/** Two tokens, of which the second is revoked after its look-up. */
async function makeAuthorities({ id }: Account, mode: Mode): Promise<[Authority, Authority]> {
  const make = async () => {
    const caller = await authenticateToken(await makeToken(id, { mode }))
    if (!caller) return expect.unreachable()
    return { id, proof: () => tokenProof(caller), proven: caller.proven }
  }
  const revoked = await make()
  await db().token.updateMany({ where: { accountId: id }, data: { revokedAt: new Date() } })
  return [await make(), revoked]
}

function describeRefusal(error: unknown): string {
  if (isKeyStored(error)) return 'key is stored'
  if (!isTrocoError(error)) return parseDatabaseError(error).code ?? String(error)
  return error.limit?.name ?? error.code
}

test('requests that share statements end as if each came after the one before it', async () => {
  const seen = { requests: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(
      rules,
      fc.array(asked, { minLength: 12, maxLength: 60, size: 'max' }),
      async (rules, all) => {
        const { mode } = rules
        const { merchant, connectionId } = await makeRuledMerchant(rules)
        const [authority, revoked] = await makeAuthorities(merchant, mode)
        const send = ({ amount, reference, key, isRevoked }: Asked) => {
          const terms = {
            ...KEY,
            amount,
            bookedAt: rules.isNight ? EVENING : NOON,
            ...(connectionId && { connectionId }),
            ...(reference !== null && { externalId: `payout-${reference}` }),
          }
          const once = { ...makeIdempotentRequest(merchant.id), mode, key: String(key) }
          const account = isRevoked ? revoked : authority
          return insertWithdrawal(account, mode, terms, key === null ? undefined : once)
        }
        const query = vi.spyOn(Client.prototype, 'query')
        const outcomes = await withClient(async client => {
          await client.query('BEGIN')
          const lock = 'SELECT pg_advisory_xact_lock(troco_books_key($1, $2))'
          await client.query(lock, [merchant.id, mode])
          const ended = Promise.allSettled(all.map(send))
          // The first one waits for the books, and all others for it.
          await untilLocked(1)
          await client.query('COMMIT')
          return await ended
        })
        const sent = query.mock.calls.filter(([config]) =>
          (config as unknown as { text?: string }).text?.includes('INSERT INTO withdrawals'),
        )
        query.mockRestore()
        expect(sent).toHaveLength(2)
        const rows = await db().withdrawal.findMany({ where: { accountId: merchant.id } })
        const reasons = new Map(rows.map(({ id, approvalReason }) => [id, approvalReason]))
        const ends = outcomes.map(outcome =>
          outcome.status === 'rejected'
            ? describeRefusal(outcome.reason)
            : (reasons.get(outcome.value.id) ?? 'made'),
        )
        expect(ends).toEqual([...predict(rules, all)])

        const made = all.filter((_, index) => outcomes[index]?.status === 'fulfilled')
        expect(rows).toHaveLength(made.length)
        const keys = await db().idempotencyKey.findMany({ where: { accountId: merchant.id } })
        expect(keys.map(({ key }) => Number(key)).toSorted()).toEqual(
          made.flatMap(({ key }) => key ?? []).toSorted(),
        )
        const outbound = made.reduce((sum, { amount }) => sum + amount, 0)
        const available = rules.funds - outbound
        expect(await readBalances(merchant.id, mode)).toEqual({ available, outbound })
        await expectBalancedLedger(merchant.id)
        seen.requests += all.length
        seen.refused += all.length - made.length
      },
    ),
    { numRuns: RUN_COUNT },
  )
  process.stdout.write(`${JSON.stringify(seen)}\n`)
}, 600_000)
