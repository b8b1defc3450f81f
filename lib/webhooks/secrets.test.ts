import { expect, test } from 'vitest'
import { db } from '#lib/db/client.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'
import { readResourceSecret } from '#lib/webhooks/secrets.ts'

test('a new account has its own 32-byte secret in each mode', async () => {
  const [merchant, other] = await Promise.all([makeMerchant(), makeMerchant()])
  const secrets = await Promise.all([
    readResourceSecret(merchant.id, 'test'),
    readResourceSecret(merchant.id, 'live'),
    readResourceSecret(other.id, 'test'),
    readResourceSecret(other.id, 'live'),
  ])
  expect(new Set(secrets).size).toBe(4)
  for (const secret of secrets) {
    const [, base64 = ''] = secret?.split('whsec_') ?? []
    expect(Buffer.from(base64, 'base64')).toHaveLength(32)
  }
  expect(await readResourceSecret(merchant.id, 'test')).toBe(secrets[0])
})

test('a secret is stored encrypted: neither its text nor its bytes are in the row', async () => {
  const merchant = await makeMerchant()
  const secret = (await readResourceSecret(merchant.id, 'test')) ?? ''
  const row = await db().webhookSecret.findFirstOrThrow({
    where: { accountId: merchant.id, mode: 'test' },
  })
  const stored = Buffer.concat([row.sealed, Buffer.from(JSON.stringify(row))])
  expect(stored.includes(secret)).toBe(false)
  expect(stored.includes(secret.slice('whsec_'.length))).toBe(false)
  expect(stored.includes(Buffer.from(secret.slice('whsec_'.length), 'base64'))).toBe(false)
})

test('a secret copied to another row does not decrypt', async () => {
  const [merchant, other] = await Promise.all([makeMerchant(), makeMerchant()])
  const where = (accountId: string) => ({ where: { accountId, mode: 'test' } })
  const foreign = await db().webhookSecret.findFirstOrThrow(where(other.id))
  await db().webhookSecret.updateMany({
    ...where(merchant.id),
    data: { sealed: foreign.sealed, keyId: foreign.keyId },
  })
  await expect(readResourceSecret(merchant.id, 'test')).rejects.toMatchObject({
    code: 'setup_failed',
  })
  expect(await readResourceSecret(other.id, 'test')).toMatch(/^whsec_/)
})

test('a retiring secret is no longer returned, and a second active one is refused', async () => {
  const merchant = await makeMerchant()
  const { id: _, ...row } = await db().webhookSecret.findFirstOrThrow({
    where: { accountId: merchant.id, mode: 'test' },
  })
  const second = { ...row, id: merchant.id }
  await expect(db().webhookSecret.create({ data: second })).rejects.toThrow()
  await db().webhookSecret.updateMany({
    where: { accountId: merchant.id, mode: 'test' },
    data: { retiresAt: new Date(Date.now() + 86_400_000) },
  })
  expect(await readResourceSecret(merchant.id, 'test')).toBeNull()
})
