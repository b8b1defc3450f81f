import type { Tx } from '#lib/base/db/client.ts'
import { type Once, storeKey } from '#lib/base/db/once.ts'
import type { Mode } from '#lib/base/mode.ts'

type Values = Record<string, string | number | boolean | string[] | null>

/** Writes down what was done, in the transaction that does it. It is never given a secret. */
export type Note = (
  tx: Tx,
  action: string,
  target: string,
  change: { before?: Values; after?: Values },
) => Promise<void>

/** In whose world somebody changes something, and how that is written down. */
export interface Owner {
  accountId: string
  mode: Mode
  note: Note
}

/**
 * Until the end of the transaction nobody else counts or replaces what an account has one or few
 * of. Rows that refer to the account can be written meanwhile.
 */
export async function lockAccount(tx: Tx, accountId: string): Promise<void> {
  await tx.$queryRaw`
    SELECT a.id FROM accounts a WHERE a.id = ${accountId}::uuid FOR NO KEY UPDATE`
}

/** Keeps the caller's Idempotency-Key with what this transaction makes, or not at all. */
export async function keepKey(tx: Tx, once: Once | undefined): Promise<void> {
  const key = storeKey(once)
  if (key) await tx.$executeRaw(key)
}
