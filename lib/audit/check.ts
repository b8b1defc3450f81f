import { type AuditFlaw, describeFlaw, encodeFlaw } from '#lib/audit/flaws.ts'
import {
  findChange,
  headText,
  type Link,
  type LinkedRecord,
  linkedColumns,
  OPERATOR_CHAIN,
  resultText,
  sign,
  signatureAge,
  TOTAL_CHAIN,
} from '#lib/audit/links.ts'
import { isEqual } from '#lib/core/keys.ts'
import { log } from '#lib/core/log.ts'
import { type Database, db, Prisma } from '#lib/db/client.ts'

const CHECK_INTERVAL = '1 day'
const CHAINS_MAX = 200
const PAGE_SIZE = 1_000
/** Time limit of a run. A run starts each minute and continues where the last one stopped. */
const RUN_MAX_MS = 3_000
/** Age at which a record must have been linked. */
const LINKED_WITHIN = '10 minutes'

/** Where the last run stopped in a chain. In memory: a stored position could be set by others. */
const stops = new Map<string, number>()

interface Head {
  length: number
  hash: string
  mac: string
}

type LinkRow = Link & { record_id: string; record: LinkedRecord | null }

/** Checks the chains whose last check is a day ago, or in the future, within a time limit. */
export async function checkAuditLog(timeLimitMs = RUN_MAX_MS): Promise<number> {
  const deadline = performance.now() + timeLimitMs
  const due = await db().$queryRaw<{ chain: string }[]>`
    SELECT a.id AS chain FROM ${allChains} a LEFT JOIN audit_chains k ON k.chain = a.id
    WHERE k.checked_at IS NULL
      OR k.checked_at NOT BETWEEN now() - ${CHECK_INTERVAL}::interval AND now()
    ORDER BY k.checked_at NULLS FIRST, a.id LIMIT ${CHAINS_MAX}`
  let checked = 0
  for (const { chain } of due) {
    const result = await checkChain(db(), chain, { position: stops.get(chain) ?? 0, deadline })
    if ('stoppedAt' in result) {
      stops.set(chain, result.stoppedAt)
      break
    }
    stops.delete(chain)
    await storeResult(chain, result.flaw)
    checked += 1
  }
  return checked
}

/** Checks all chains now. Returns the first flaw of each. */
export async function verifyAuditLog(database: Database): Promise<AuditFlaw[]> {
  const chains = await database.$queryRaw<{ id: string }[]>`SELECT a.id FROM ${allChains} a`
  const flaws: AuditFlaw[] = []
  for (const { id } of chains) {
    const result = await checkChain(database, id, { position: 0, deadline: Infinity })
    if ('flaw' in result && result.flaw) flaws.push(result.flaw)
  }
  return flaws
}

/** Also accounts without records, so that a chain that was removed whole is examined. */
const allChains = Prisma.sql`
  (SELECT id FROM accounts UNION SELECT ${OPERATOR_CHAIN}::uuid UNION SELECT ${TOTAL_CHAIN}::uuid
    UNION SELECT chain FROM audit_chains)`

type Result = { flaw: AuditFlaw | null } | { stoppedAt: number }

/** Walks the links after `position`; stops at the first that is wrong, or at the deadline. */
async function checkChain(
  database: Database,
  chain: string,
  start: { position: number; deadline: number },
): Promise<Result> {
  if (chain === TOTAL_CHAIN) return { flaw: await examineTotal(database) }
  const head = await readHead(database, chain)
  let { position } = start
  let hash = await readHash(database, chain, position)
  for (let isLast = false; !isLast; ) {
    if (performance.now() > start.deadline) return { stoppedAt: position }
    const links = await readLinks(database, chain, position)
    for (const link of links) {
      const flaw = examineLink(link, position + 1, hash)
      if (flaw) return { flaw }
      ;({ position, hash } = link)
    }
    await renewSignatures(database, chain, links)
    isLast = links.length < PAGE_SIZE
  }
  const flaw =
    (await examineHead(database, chain, head, position)) ?? (await findUnlinked(database, chain))
  return { flaw }
}

function examineLink(link: LinkRow, position: number, previousHash: string): AuditFlaw | null {
  const params = { record: link.record_id }
  if (link.position !== position) return { code: 'link_removed', params }
  if (!link.record) return { code: 'record_removed', params }
  const change = findChange(link.record, link, previousHash)
  if (change) return change
  return signatureAge(link.hash, link.mac) ? null : { code: 'link_changed', params }
}

/** `head` was read before the links: since then, the chain may only have grown. */
async function examineHead(
  database: Database,
  chain: string,
  head: Head | null,
  position: number,
): Promise<AuditFlaw | null> {
  const params = { chain }
  if (!head) {
    const isNew = position === 0 || (await readHead(database, chain)) !== null
    return isNew ? null : { code: 'end_removed', params }
  }
  const { length, hash, mac } = head
  if (position < length) return { code: 'end_cut', params }
  const age = signatureAge(headText(chain, length, hash), mac)
  if (age === null || !isEqual(await readHash(database, chain, length), hash))
    return { code: 'end_changed', params }
  if (age === 'former')
    await database.$executeRaw`
      UPDATE audit_chains SET mac = decode(${sign(headText(chain, length, hash))}, 'hex')
      WHERE chain = ${chain}::uuid AND length = ${length}::bigint`
  return null
}

async function examineTotal(database: Database): Promise<AuditFlaw | null> {
  const [row] = await database.$queryRaw<{ total: number; sum: number; mac: string }[]>`
    SELECT COALESCE(max(length) FILTER (WHERE chain = ${TOTAL_CHAIN}::uuid), 0)::float8 AS total,
      COALESCE(sum(length) FILTER (WHERE chain <> ${TOTAL_CHAIN}::uuid), 0)::float8 AS sum,
      COALESCE(max(encode(mac, 'hex')) FILTER (WHERE chain = ${TOTAL_CHAIN}::uuid), '') AS mac
    FROM audit_chains`
  const { total, sum, mac } = row ?? { total: 0, sum: 0, mac: '' }
  if (total !== sum) return { code: 'links_missing', params: { linked: total, left: sum } }
  const text = headText(TOTAL_CHAIN, total, '')
  const age = signatureAge(text, mac)
  if (age === 'former')
    await database.$executeRaw`
      UPDATE audit_chains SET mac = decode(${sign(text)}, 'hex')
      WHERE chain = ${TOTAL_CHAIN}::uuid AND length = ${total}::bigint`
  return age === null && total > 0 ? { code: 'total_changed', params: {} } : null
}

async function findUnlinked(database: Database, chain: string): Promise<AuditFlaw | null> {
  const accountCondition =
    chain === OPERATOR_CHAIN
      ? Prisma.sql`r.account_id IS NULL`
      : Prisma.sql`r.account_id = ${chain}::uuid`
  const [unlinked] = await database.$queryRaw<{ id: string }[]>`
    SELECT r.id FROM audit_log r
    WHERE ${accountCondition} AND r.created_at < now() - ${LINKED_WITHIN}::interval
      AND NOT EXISTS (SELECT FROM audit_links l WHERE l.record_id = r.id)
      AND NOT EXISTS (SELECT FROM audit_unlinked q WHERE q.record_id = r.id)
    LIMIT 1`
  return unlinked ? { code: 'record_unlinked', params: { record: unlinked.id } } : null
}

/** Signs links of TROCO_SECRET_BEFORE with the current key; `hash`, and so the chain, stays. */
async function renewSignatures(database: Database, chain: string, links: LinkRow[]): Promise<void> {
  for (const { hash, mac, position } of links) {
    if (signatureAge(hash, mac) === 'current') continue
    await database.$executeRaw`
      UPDATE audit_links SET mac = decode(${sign(hash)}, 'hex')
      WHERE chain = ${chain}::uuid AND position = ${position}::bigint`
  }
}

/** Stores the result with a signature: write access to the database is not enough to change it. */
async function storeResult(chain: string, flaw: AuditFlaw | null): Promise<void> {
  if (flaw) log().error({ chain, wrong: describeFlaw(flaw) }, 'audit log was changed')
  const wrong = flaw && encodeFlaw(flaw)
  const checkedAtMs = Date.now()
  const mac = sign(resultText(chain, checkedAtMs, wrong))
  await db().$executeRaw`
    INSERT INTO audit_chains AS k (chain, checked_at, wrong, checked_mac)
    VALUES (${chain}::uuid, to_timestamp(${checkedAtMs}::float8 / 1000), ${wrong}, decode(${mac}, 'hex'))
    ON CONFLICT (chain) DO UPDATE SET checked_at = EXCLUDED.checked_at, wrong = EXCLUDED.wrong,
      checked_mac = EXCLUDED.checked_mac`
}

async function readHead(database: Database, chain: string): Promise<Head | null> {
  const [head] = await database.$queryRaw<Head[]>`
    SELECT length::float8 AS length, encode(hash, 'hex') AS hash, encode(mac, 'hex') AS mac
    FROM audit_chains WHERE chain = ${chain}::uuid AND length > 0`
  return head ?? null
}

async function readHash(database: Database, chain: string, position: number): Promise<string> {
  const [link] = await database.$queryRaw<{ hash: string }[]>`
    SELECT encode(hash, 'hex') AS hash FROM audit_links
    WHERE chain = ${chain}::uuid AND position = ${position}::bigint`
  return link?.hash ?? ''
}

async function readLinks(database: Database, chain: string, after: number): Promise<LinkRow[]> {
  const rows = await database.$queryRaw<(Link & LinkedRecord & { record_id: string })[]>`
    SELECT l.record_id, l.position::float8 AS position, encode(l.salt, 'hex') AS salt,
      encode(l.digests, 'hex') AS digests, encode(l.hash, 'hex') AS hash, encode(l.mac, 'hex') AS mac,
      ${linkedColumns}
    FROM audit_links l LEFT JOIN audit_log r ON r.id = l.record_id
    WHERE l.chain = ${chain}::uuid AND l.position > ${after}::bigint
    ORDER BY l.position LIMIT ${PAGE_SIZE}`
  return rows.map(row => ({ ...row, record: row.id === null ? null : row }))
}
