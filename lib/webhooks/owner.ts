import type { Mode } from '#lib/core/mode.ts'
import type { Tx } from '#lib/db/client.ts'
import { type IdempotentRequest, storeKeySql } from '#lib/db/idempotency.ts'

type Values = Record<string, string | number | boolean | string[] | null>

/** Records an action in the transaction that performs it. Never pass it a secret. */
export type AuditNote = (
  tx: Tx,
  action: string,
  target: string,
  change: { before?: Values; after?: Values },
) => Promise<void>

export interface Owner {
  accountId: string
  mode: Mode
  note: AuditNote
  /** Whether a program acts, with a token. */
  isToken?: boolean
  /** Whether the actor may read payers' documents (`payers:read`). Only then may an endpoint. */
  readsPayers?: boolean
  /** Reads that again in the transaction; refuses an actor who lost the permission to act. */
  lockAuthority?: (tx: Tx) => Promise<{ readsPayers: boolean }>
}

/** Locks an account to count or replace its endpoints and secrets. Rows can still reference it. */
export async function lockAccount(tx: Tx, accountId: string): Promise<void> {
  await tx.$queryRaw`
    SELECT a.id FROM accounts a WHERE a.id = ${accountId}::uuid FOR NO KEY UPDATE`
}

export async function storeIdempotencyKey(
  tx: Tx,
  once: IdempotentRequest | undefined,
): Promise<void> {
  const key = storeKeySql(once)
  if (key) await tx.$executeRaw(key)
}
