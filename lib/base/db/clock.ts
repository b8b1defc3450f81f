import { db, type Tx } from '#lib/base/db/client.ts'

/** A clock that continues from a time of the database, whatever this machine's clock is set to. */
export function clockFrom(databaseMs: number): () => Date {
  const since = performance.now()
  return () => new Date(databaseMs + performance.now() - since)
}

export async function readDatabaseTime(tx: Tx = db()): Promise<Date> {
  const [row] = await tx.$queryRaw<[{ at: Date }]>`SELECT clock_timestamp() AS at`
  return row.at
}
