import { randomBytes } from 'node:crypto'
import { db, type Tx } from '#lib/db/client.ts'
import { newId } from '#lib/ids.ts'
import { keyId, seal, unseal } from '#lib/keys.ts'
import { MODES, type Mode } from '#lib/mode.ts'

const SECRET_BYTES = 32

/** Opens a new account's event numbering and makes the secrets that sign its resource webhooks. */
export async function openWebhooks(tx: Tx, accountId: string): Promise<void> {
  await tx.eventSequence.createMany({ data: MODES.map(mode => ({ accountId, mode })) })
  await tx.webhookSecret.createMany({
    data: MODES.map(mode => {
      const id = newId()
      const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
      return { accountId, id, mode, sealed: seal(secret, id), keyId: keyId() }
    }),
  })
}

/** The secret in force that signs the webhooks of charges and withdrawals. */
export async function readResourceSecret(accountId: string, mode: Mode): Promise<string | null> {
  const row = await db().webhookSecret.findFirst({
    where: { accountId, mode, endpointId: null, retiresAt: null },
  })
  return row ? unseal(row.sealed, row.id) : null
}
