import {
  headText,
  type LinkedRecord,
  linkedColumns,
  makeLink,
  sign,
  signatureAge,
  TOTAL_CHAIN,
} from '#lib/audit/links.ts'
import { isEqual } from '#lib/core/keys.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'

const BATCH_MAX = 500

interface Head {
  chain: string
  length: number
  hash: string
  mac: string
  /** The last link that exists, or 0 and ''. */
  lastPosition: number
  lastHash: string
}

/**
 * Links queued records to the ends of their chains. After a crash nothing or all of a batch is
 * linked. The row of the total admits one worker at a time. An end that was changed is extended but
 * never signed again, so the change stays visible.
 */
export function linkAuditRecords(): Promise<number> {
  return transaction(async tx => {
    const total = await lockTotal(tx)
    const queued = await tx.$queryRaw<{ record_id: string }[]>`
      SELECT record_id FROM audit_unlinked ORDER BY record_id LIMIT ${BATCH_MAX}`
    if (queued.length === 0) return 0
    const ids = queued.map(({ record_id }) => record_id)
    const records = await tx.$queryRaw<LinkedRecord[]>`
      SELECT ${linkedColumns} FROM audit_log r WHERE r.id = ANY(${ids}::uuid[])
        AND NOT EXISTS (SELECT FROM audit_links l WHERE l.record_id = r.id) ORDER BY r.id`
    const chains = Map.groupBy(records, ({ chain }) => chain)
    for (const [chain, added] of chains) await append(tx, await readHead(tx, chain), added)
    await storeHead(tx, total, { length: total.length + records.length, hash: '' })
    await tx.$executeRaw`DELETE FROM audit_unlinked WHERE record_id = ANY(${ids}::uuid[])`
    return ids.length
  })
}

async function lockTotal(tx: Tx): Promise<Head> {
  await tx.$executeRaw`
    INSERT INTO audit_chains (chain) VALUES (${TOTAL_CHAIN}::uuid) ON CONFLICT (chain) DO NOTHING`
  await tx.$executeRaw`SELECT FROM audit_chains WHERE chain = ${TOTAL_CHAIN}::uuid FOR UPDATE`
  return readHead(tx, TOTAL_CHAIN)
}

async function readHead(tx: Tx, chain: string): Promise<Head> {
  await tx.$executeRaw`
    INSERT INTO audit_chains (chain) VALUES (${chain}::uuid) ON CONFLICT (chain) DO NOTHING`
  const [head] = await tx.$queryRaw<Head[]>`
    SELECT k.chain, k.length::float8 AS length, encode(k.hash, 'hex') AS hash,
      encode(k.mac, 'hex') AS mac, COALESCE(l.position, 0)::float8 AS "lastPosition",
      encode(COALESCE(l.hash, ''), 'hex') AS "lastHash"
    FROM audit_chains k LEFT JOIN LATERAL (
      SELECT position, hash FROM audit_links WHERE chain = k.chain ORDER BY position DESC LIMIT 1) l ON true
    WHERE k.chain = ${chain}::uuid`
  return head as Head
}

async function append(tx: Tx, head: Head, records: LinkedRecord[]): Promise<void> {
  const { chain } = head
  // After the last link even if the end was set back, which must not stop the linking.
  let { lastPosition: length, lastHash: hash } =
    head.lastPosition < head.length ? atEnd(head) : head
  const rows = records.map(record => {
    const { salt, digests, mac, ...link } = makeLink(record, length + 1, hash)
    ;({ position: length, hash } = link)
    return Prisma.sql`(${chain}::uuid, ${length}::bigint, ${record.id}::uuid, decode(${salt}, 'hex'),
      decode(${digests}, 'hex'), decode(${hash}, 'hex'), decode(${mac}, 'hex'))`
  })
  await tx.$executeRaw`
    INSERT INTO audit_links (chain, position, record_id, salt, digests, hash, mac)
    VALUES ${Prisma.join(rows)}`
  await storeHead(tx, head, { length, hash })
}

function atEnd(head: Head): Pick<Head, 'lastPosition' | 'lastHash'> {
  return { lastPosition: head.length, lastHash: head.hash }
}

/** Signs the new end only if the old one was signed, or nothing was linked yet. */
async function storeHead(
  tx: Tx,
  { chain, length, hash, mac, lastHash }: Head,
  next: { length: number; hash: string },
): Promise<void> {
  const isNew = length === 0 && mac === '' && lastHash === ''
  const isSigned = isEqual(hash, lastHash) && signatureAge(headText(chain, length, hash), mac)
  const newMac = isNew || isSigned ? sign(headText(chain, next.length, next.hash)) : mac
  await tx.$executeRaw`
    UPDATE audit_chains SET length = ${next.length}::bigint, hash = decode(${next.hash}, 'hex'),
      mac = decode(${newMac}, 'hex')
    WHERE chain = ${chain}::uuid`
}
