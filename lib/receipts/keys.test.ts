import { afterEach, describe, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import {
  createReceiptUrl,
  deriveSigningKey,
  listReceiptKeys,
  readCurrentKey,
  rotateReceiptKey,
  verifyReceipt,
  withdrawReceiptKey,
} from '#lib/receipts/sign.ts'
import { inOwnDatabase, runAsOwner } from '#lib/testing/fixtures.ts'
import { issueReceipt, RECEIPT_FACTS, signWith } from '#lib/testing/receipts.ts'

inOwnDatabase()

const { PUBLIC_URL, TROCO_SECRET = '' } = env()
const OTHER_SECRET = 'another-server-key-that-only-this-test-knows-0123'
const ACTOR = { type: 'system' } as const

afterEach(() => {
  supplyEnv({ PUBLIC_URL, TROCO_SECRET, TROCO_SECRET_BEFORE: '' })
})

describe('keys', () => {
  test('rotate: former receipts stay valid, new ones name the new key', async () => {
    const before = await issueReceipt()
    const former = await readCurrentKey()
    const id = await rotateReceiptKey(ACTOR)
    const after = await issueReceipt()
    expect(after).toContain(`1.${id}.`)
    expect(id).not.toBe(former.id)
    for (const text of [before, after]) {
      expect(await verifyReceipt(text)).toMatchObject({ state: 'signed', facts: RECEIPT_FACTS })
    }
    const audited = await db().auditRecord.findMany({ where: { target: id } })
    expect(audited.map(({ action }) => action)).toEqual(['receipt_key.rotated'])
  })

  test('that were withdrawn prove nothing, and the next one signs', async () => {
    const text = await issueReceipt()
    const { id } = await readCurrentKey()
    await withdrawReceiptKey(id, 'leaked', ACTOR)
    await withdrawReceiptKey(id, 'leaked twice', ACTOR)
    expect(await verifyReceipt(text)).toEqual({ state: 'withdrawn' })
    expect(await verifyReceipt(text.replace('123456', '123457'))).toEqual({ state: 'forged' })
    const next = await issueReceipt()
    expect(next).not.toContain(id)
    expect(await verifyReceipt(next)).toMatchObject({ state: 'signed' })
    const audited = await db().auditRecord.findMany({ where: { target: id, reason: 'leaked' } })
    expect(audited.map(({ action }) => action)).toEqual(['receipt_key.withdrawn'])
    expect(await db().auditRecord.count({ where: { target: id, reason: 'leaked twice' } })).toBe(0)
  })

  test('that do not exist cannot be withdrawn', async () => {
    await expect(withdrawReceiptKey('A'.repeat(16), 'x', ACTOR)).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  test('of a former TROCO_SECRET verify for good, without TROCO_SECRET_BEFORE', async () => {
    const text = await issueReceipt()
    supplyEnv({ TROCO_SECRET: OTHER_SECRET })
    expect(await verifyReceipt(text)).toMatchObject({ state: 'signed' })
    const after = await issueReceipt()
    expect(after).not.toBe(text)
    expect(await verifyReceipt(after)).toMatchObject({ state: 'signed' })
  })

  test('of a former PUBLIC_URL verify after a move', async () => {
    const text = await issueReceipt()
    supplyEnv({ PUBLIC_URL: 'https://new.shop.example' })
    expect(await createReceiptUrl(RECEIPT_FACTS)).toContain('https://new.shop.example/receipt/')
    expect(await verifyReceipt(text)).toMatchObject({ state: 'signed' })
  })

  test('whose rows a restore lost are derived again, also after the last rotation', async () => {
    await rotateReceiptKey(ACTOR)
    const after = await issueReceipt()
    const last = (await readCurrentKey()).id
    await runLoss([last])
    expect(await verifyReceipt(after)).toMatchObject({ state: 'signed' })
    await runLoss((await listReceiptKeys()).map(({ id }) => id))
    const text = signWith(deriveSigningKey(1))
    expect(await verifyReceipt(text)).toMatchObject({ state: 'signed' })
  })

  test('whose rows a restore lost are published again by a receipt, not by a forged one', async () => {
    await rotateReceiptKey(ACTOR)
    const text = await issueReceipt()
    const { id } = await readCurrentKey()
    const isListed = async () => (await listReceiptKeys()).some(key => key.id === id)
    await runLoss([id])
    await verifyReceipt(text.replace('123456', '123457'))
    expect(await isListed()).toBe(false)
    expect(await verifyReceipt(text)).toMatchObject({ state: 'signed' })
    expect(await isListed()).toBe(true)
  })

  test('whose rows a restore lost can be withdrawn', async () => {
    await rotateReceiptKey(ACTOR)
    const text = await issueReceipt()
    const { id } = await readCurrentKey()
    await runLoss([id])
    await withdrawReceiptKey(id, 'leaked', ACTOR)
    expect(await verifyReceipt(text)).toEqual({ state: 'withdrawn' })
    expect((await readCurrentKey()).id).not.toBe(id)
  })

  test('that another process withdrew sign nothing more', async () => {
    const { id } = await readCurrentKey()
    await runAsOwner(`UPDATE receipt_keys SET withdrawn_at = now() WHERE id = '${id}'`)
    expect(await issueReceipt()).not.toContain(id)
  })

  test('of a TROCO_SECRET that leaked are refused but for those that signed, until withdrawn', async () => {
    const text = await issueReceipt()
    const { id, number } = await readCurrentKey()
    const unused = signWith(deriveSigningKey(number + 1))
    supplyEnv({ TROCO_SECRET: OTHER_SECRET, TROCO_SECRET_BEFORE: TROCO_SECRET })
    expect(await verifyReceipt(unused)).toEqual({ state: 'forged' })
    expect(await verifyReceipt(text)).toMatchObject({ state: 'signed' })
    await withdrawReceiptKey(id, 'TROCO_SECRET leaked', ACTOR)
    expect(await verifyReceipt(text)).toEqual({ state: 'withdrawn' })
    expect(await verifyReceipt(await issueReceipt())).toMatchObject({ state: 'signed' })
  })

  test('are published before they sign', async () => {
    supplyEnv({ PUBLIC_URL: `https://${newId()}.example` })
    const text = await issueReceipt()
    const ids = (await listReceiptKeys()).map(({ id }) => id)
    expect(ids).toContain(text.split('.')[1])
  })
})

async function runLoss(ids: string[]): Promise<void> {
  const list = ids.map(id => `'${id}'`).join()
  await runAsOwner(`DELETE FROM receipt_keys WHERE id IN (${list})`)
}
