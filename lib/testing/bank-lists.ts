import type { ListReader } from '#lib/banks/list-reader.ts'
import { createDisputeReader } from '#lib/charges/disputes/read-list.ts'
import { createReturnsReader } from '#lib/withdrawals/outcome.ts'

/** Reads the payouts of all banks as a worker that was just started does. */
export function readReturns(): Promise<void> {
  return readToEnd(createReturnsReader())
}

export function readDisputeLists(now = new Date()): Promise<void> {
  return readToEnd(createDisputeReader(() => now))
}

async function readToEnd({ run, idle }: ListReader): Promise<void> {
  await run()
  await idle()
}
