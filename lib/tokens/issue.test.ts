import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { db } from '#lib/db/client.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'
import { issueToken } from '#lib/tokens/issue.ts'

async function ownerOf(accountId: string) {
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId } })
  return { type: 'user', id: userId } as const
}

test("the database stores only a token's HMAC, first 20 and last four characters", async () => {
  const merchant = await makeMerchant()
  const newToken = {
    accountId: merchant.id,
    mode: 'test' as const,
    name: 'shop',
    permissions: ['account:read' as const],
  }
  const { id, token } = await issueToken(newToken, await ownerOf(merchant.id))
  const rows = await db().$queryRaw<{ row: string; hash: Uint8Array }[]>`
    SELECT to_jsonb(t)::text AS row, hash FROM tokens t WHERE account_id = ${merchant.id}::uuid
    UNION ALL
    SELECT to_jsonb(a)::text, NULL FROM audit_log a WHERE account_id = ${merchant.id}::uuid`
  expect(rows.length).toBeGreaterThanOrEqual(2)
  const storedText = rows.map(row => row.row).join('\n')
  expect(storedText).not.toContain(token)
  expect(storedText).not.toContain(token.slice(0, 21))
  expect(storedText).not.toContain(token.slice(-5))
  // An unkeyed hash could be brute-forced offline with a copy of the table.
  expect(Buffer.from(rows[0]?.hash ?? [])).toHaveLength(32)
  expect(storedText).not.toContain(createHash('sha256').update(token).digest('hex'))
  const row = await db().token.findFirstOrThrow({ where: { accountId: merchant.id, id } })
  expect(row).toMatchObject({
    name: 'shop',
    mode: 'test',
    permissions: ['account:read'],
    prefix: token.slice(0, 20),
    lastFour: token.slice(-4),
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
  })
})

test('the audit record has the issuer, name, mode and permissions', async () => {
  const merchant = await makeMerchant()
  const permissions = ['transactions:read' as const, 'events:read' as const]
  const newToken = { accountId: merchant.id, mode: 'live' as const, name: 'erp', permissions }
  const actor = await ownerOf(merchant.id)
  const { id } = await issueToken(newToken, actor)
  const records = await db().auditRecord.findMany({ where: { target: id } })
  expect(records).toMatchObject([
    {
      action: 'token.issued',
      accountId: merchant.id,
      actorType: 'user',
      actorId: actor.id,
      after: { name: 'erp', mode: 'live', permissions },
    },
  ])
})
