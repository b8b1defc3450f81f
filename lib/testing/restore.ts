import type {
  GatewayResult,
  Listing,
  PayoutOrder,
  RefundOrder,
  TakenOrder,
} from '#lib/banks/gateway.ts'
import { expireBanks } from '#lib/banks/served.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { db, disconnect } from '#lib/db/client.ts'
import { beginRestore, createRestoreReader } from '#lib/operator/restore.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { copyDatabase } from '#lib/testing/database.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

type List = Promise<GatewayResult<Listing<TakenOrder>>>

/** A bank that lists what it has taken. */
export class ListingBank extends StubBank {
  /** Times at which orders were first sent, by their ids. */
  private readonly times = new Map<string, Date>()

  listTakenPayouts(since: Date): List {
    return this.list(since, order => 'dictKey' in order)
  }

  listTakenRefunds(since: Date): List {
    return this.list(since, order => !('dictKey' in order))
  }

  private async list(since: Date, isListed: (order: PayoutOrder | RefundOrder) => boolean): List {
    const orders = new Map(this.sentOrders.map(order => [order.id, order]))
    const items: TakenOrder[] = []
    for (const order of orders.values()) {
      if (!isListed(order) || this.countDebits(order.id) === 0) continue
      const orderedAt = this.times.get(order.id) ?? new Date()
      this.times.set(order.id, orderedAt)
      if (orderedAt >= since) items.push(await this.describe(order, orderedAt))
    }
    return { outcome: 'ok', value: { items, nextCursor: null } }
  }

  private async describe(order: PayoutOrder | RefundOrder, orderedAt: Date): Promise<TakenOrder> {
    const { id, amount } = order
    const result = await ('dictKey' in order ? this.getPayout({ id }) : this.getRefund(order))
    // Asking for the list is no question about the order.
    this.queriedIds.pop()
    const state = result.outcome === 'ok' ? result.value : null
    const bankId = state?.state === 'done' ? state.endToEndId : null
    const known = { id, amount, orderedAt, isDone: state?.state === 'done' }
    return 'dictKey' in order
      ? { ...known, endToEndId: bankId, dictKey: order.dictKey, returnId: null }
      : { ...known, endToEndId: order.endToEndId, dictKey: null, returnId: bankId }
  }
}

/** A copy of the database, which `restore` puts in the place of the current one. */
export interface RestorePoint {
  at: Date
  url: string
}

export async function copyNow(): Promise<RestorePoint> {
  await disconnect()
  const at = new Date()
  return { at, url: await copyDatabase() }
}

/** Puts the copy in place and begins the restore. */
export async function restore({ at, url }: RestorePoint): Promise<void> {
  await disconnect()
  supplyEnv({ DATABASE_URL: url })
  expireBanks()
  await beginRestore(at, { type: 'command_line' })
}

/** Reads the banks as the worker does once the time after a restore has passed. */
export async function readRestored(): Promise<void> {
  await db().$executeRaw`UPDATE restore_closures SET due_at = now() WHERE opened_at IS NULL`
  const reader = createRestoreReader(ORDER_RULES)
  await reader.run()
  await reader.idle()
}
