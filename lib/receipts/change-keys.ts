import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse } from '#lib/core/errors.ts'
import { transaction } from '#lib/db/client.ts'
import { deriveSigningKey, findLostKey, listReceiptKeys, publishKey } from '#lib/receipts/keys.ts'

/**
 * Signs with a new key from now on, in all processes. Receipts of the former key stay valid. Two calls at the same time make one key.
 */
export async function rotateReceiptKey(actor: Actor): Promise<string> {
  const numbers = (await listReceiptKeys()).map(({ number }) => number)
  const key = deriveSigningKey(Math.max(1, ...numbers) + 1)
  await transaction(async tx => {
    const isNew = await publishKey(tx, key)
    if (isNew) await recordAudit(tx, { actor, action: 'receipt_key.rotated', target: key.id })
  })
  return key.id
}

/**
 * Makes all receipts of a key invalid. If it is the one that signs, the next one takes its place.
 * Does nothing if it was withdrawn before. A key whose row a restore lost gets it again.
 */
export async function withdrawReceiptKey(id: string, reason: string, actor: Actor): Promise<void> {
  const keys = await listReceiptKeys()
  const isListed = keys.some(key => key.id === id)
  const lost = isListed ? null : await findLostKey(id)
  if (!isListed && !lost) {
    throw refuse('not_found', `No key ${id}: see \`receipt-key list\``)
  }
  await transaction(async tx => {
    if (lost) await publishKey(tx, lost)
    const { count } = await tx.receiptKey.updateMany({
      where: { id, withdrawnAt: null },
      data: { withdrawnAt: new Date() },
    })
    if (count === 0) return
    await recordAudit(tx, { actor, action: 'receipt_key.withdrawn', target: id, reason })
  })
}
