import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import {
  activeTokenCondition,
  authenticateToken,
  tokenStatusSql,
} from '#lib/tokens/authenticate.ts'
import { isActiveToken, TOKEN_STATUSES, type TokenStatus } from '#lib/tokens/schema.ts'

const DAY_S = 86_400

interface Case {
  status: TokenStatus
  /** Seconds from now; null means never. */
  expiresIn: number | null
  isRevoked?: boolean
  isReplaced?: boolean
}

const CASES: Case[] = [
  { status: 'active', expiresIn: null },
  { status: 'active', expiresIn: 8 * DAY_S },
  { status: 'expiring', expiresIn: 6 * DAY_S },
  { status: 'replaced', expiresIn: DAY_S, isReplaced: true },
  { status: 'replaced', expiresIn: null, isReplaced: true },
  { status: 'expired', expiresIn: 0 },
  { status: 'expired', expiresIn: -DAY_S },
  { status: 'expired', expiresIn: -DAY_S, isReplaced: true },
  { status: 'revoked', expiresIn: null, isRevoked: true },
  { status: 'revoked', expiresIn: DAY_S, isRevoked: true, isReplaced: true },
  { status: 'revoked', expiresIn: -DAY_S, isRevoked: true },
]

test('the cases cover every status', () => {
  expect(new Set(CASES.map(({ status }) => status))).toEqual(new Set(TOKEN_STATUSES))
})

test.each(CASES)(
  'the status in SQL and TypeScript agrees with the verification: %o',
  async ({ status, expiresIn, isRevoked = false, isReplaced = false }) => {
    const { id: accountId } = await makeMerchant()
    const token = await makeToken(accountId)
    await db().$executeRaw`
      UPDATE tokens SET expires_at = now() + make_interval(secs => ${expiresIn}::float8),
        revoked_at = CASE WHEN ${isRevoked} THEN now() END,
        replaced_by = ${isReplaced ? newId() : null}::uuid
      WHERE account_id = ${accountId}::uuid`
    const [found] = await db().$queryRaw<{ status: TokenStatus; isActive: boolean }[]>(Prisma.sql`
      SELECT ${tokenStatusSql} AS status, ${activeTokenCondition} AS "isActive" FROM tokens t
      WHERE t.account_id = ${accountId}::uuid`)
    const isActive = isActiveToken(status)
    expect(found).toEqual({ status, isActive })
    expect((await authenticateToken(token)) !== null).toBe(isActive)
  },
)
