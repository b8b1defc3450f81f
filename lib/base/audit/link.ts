import {
  headText,
  type LinkedRecord,
  linkedColumns,
  makeLink,
  sign,
} from '#lib/base/audit/links.ts'
import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'

const BATCH_MAX = 500

interface Head {
  chain: string
  length: number
  hash: string
}

/**
 * Links queued records to the ends of their chains. After a crash nothing or all of a batch is
 * linked. Workers skip each other's records and wait for each other at the end of a chain.
 */
export function linkAuditRecords(): Promise<number> {
  return transaction(async tx => {
    const queued = await tx.$queryRaw<{ record_id: string }[]>`
      SELECT record_id FROM audit_unlinked
      ORDER BY record_id LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED`
    if (queued.length === 0) return 0
    const ids = queued.map(({ record_id }) => record_id)
    const records = await tx.$queryRaw<LinkedRecord[]>`
      SELECT ${linkedColumns} FROM audit_log r WHERE r.id = ANY(${ids}::uuid[]) ORDER BY r.id`
    const chains = Map.groupBy(records, ({ chain }) => chain)
    for (const { chain, length, hash } of await lockHeads(tx, [...chains.keys()]))
      await append(tx, { chain, length, hash }, chains.get(chain) ?? [])
    await tx.$executeRaw`DELETE FROM audit_unlinked WHERE record_id = ANY(${ids}::uuid[])`
    return ids.length
  })
}

/** Locks in the order of the ids, so that two workers cannot wait for each other. */
async function lockHeads(tx: Tx, chains: string[]): Promise<Head[]> {
  await tx.$executeRaw`
    INSERT INTO audit_chains (chain) SELECT unnest(${chains}::uuid[]) AS chain ORDER BY chain
    ON CONFLICT (chain) DO NOTHING`
  return tx.$queryRaw<Head[]>`
    SELECT chain, length::float8 AS length, encode(hash, 'hex') AS hash FROM audit_chains
    WHERE chain = ANY(${chains}::uuid[]) ORDER BY chain FOR UPDATE`
}

async function append(tx: Tx, head: Head, records: LinkedRecord[]): Promise<void> {
  const { chain } = head
  let { length, hash } = head
  const rows = records.map(record => {
    const { salt, digests, mac, ...link } = makeLink(record, length + 1, hash)
    ;({ position: length, hash } = link)
    return Prisma.sql`(${chain}::uuid, ${length}::bigint, ${record.id}::uuid, decode(${salt}, 'hex'),
      decode(${digests}, 'hex'), decode(${hash}, 'hex'), decode(${mac}, 'hex'))`
  })
  await tx.$executeRaw`
    INSERT INTO audit_links (chain, position, record_id, salt, digests, hash, mac)
    VALUES ${Prisma.join(rows)}`
  await tx.$executeRaw`
    UPDATE audit_chains SET length = ${length}::bigint, hash = decode(${hash}, 'hex'),
      mac = decode(${sign(headText(chain, length, hash))}, 'hex')
    WHERE chain = ${chain}::uuid`
}
