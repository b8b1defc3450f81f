import { Gate, rest } from '#lib/core/concurrency.ts'
import { currentLogContext } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'

/** Bytes that the reads of one account in progress have together, unless it is only one. */
const BUDGET = 1_024 * 1_024
/** As long as a request waits for a connection at most. */
const WAIT_MAX_MS = 30_000
/** After a read of this size its account rests. */
const LARGE_BYTES = 256 * 1_024
/** Expected of each read at least, also after empty ones: more than 16 large ones never begin at once. */
const EXPECTED_MIN = 64 * 1_024
/** Factor of the expected size after a smaller read: after a few small ones, a large one is still expected. */
const SIZE_DECAY = 0.9
/** Above it, accounts without a read in progress are forgotten. */
const BUDGETS_MAX = 10_000

interface ReadBudget {
  /** Bytes that the next read is expected to have. Before the first has ended, the whole budget. */
  expected: number | null
  gate: Gate
}

const budgets = processWide('read-budgets', () => new Map<string, ReadBudget>())

/**
 * Runs reads of one account at the same time while they fit into BUDGET, by the size of earlier ones.
 * Large reads end no sooner at the same time, and a request of another account would wait for a part
 * of each. Work of the process itself is not limited.
 */
export async function readWithinBudget<Result extends { bytes: number }>(
  read: () => Promise<Result>,
): Promise<Result> {
  const { accountId } = currentLogContext()
  if (accountId === undefined) return read()
  const budget = budgetOf(accountId)
  const deadline = performance.now() + WAIT_MAX_MS
  const taken = await budget.gate.enter(BUDGET, deadline, () => budget.expected ?? BUDGET)
  let bytes = 0
  try {
    const result = await read()
    bytes = result.bytes
    budget.expected = Math.max(bytes, EXPECTED_MIN, (budget.expected ?? 0) * SIZE_DECAY)
    return result
  } finally {
    if (bytes < LARGE_BYTES) budget.gate.leave(taken)
    else rest().then(() => budget.gate.leave(taken))
  }
}

function budgetOf(accountId: string): ReadBudget {
  const known = budgets.get(accountId)
  if (known) return known
  if (budgets.size >= BUDGETS_MAX)
    for (const [id, { gate }] of budgets) if (gate.isEmpty) budgets.delete(id)
  const budget = { expected: null, gate: new Gate() }
  budgets.set(accountId, budget)
  return budget
}
