import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkAuditLog, verifyAuditLog } from '#lib/audit/check.ts'
import { type AuditFlaw, describeFlaw, encodeFlaw } from '#lib/audit/flaws.ts'
import { linkAuditRecords } from '#lib/audit/link.ts'
import { OPERATOR_CHAIN, TOTAL_CHAIN } from '#lib/audit/links.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { connect, type Database, db, Prisma } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'

inOwnDatabase()

const RECORD_COUNT = 4
type AuditChain = Awaited<ReturnType<typeof findChain>>
const findChain = (chain: string) => db().auditChain.findUniqueOrThrow({ where: { chain } })

let chain: string
let ids: string[]
let older: AuditChain | undefined
beforeEach(async () => {
  await asOwner(Prisma.sql`TRUNCATE audit_log, audit_links, audit_chains, audit_unlinked`)
  ;({ id: chain } = await makeMerchant())
  await record(chain, 0)
  await linkAll()
  older = await findChain(chain)
  for (let nth = 1; nth < RECORD_COUNT; nth++) await record(chain, nth)
  await linkAll()
  ids = (await readLinks(chain)).map(({ recordId }) => recordId)
})

function record(accountId: string | undefined, nth: number): Promise<void> {
  const actor = { type: 'user', id: newId() } as const
  const values = { before: { name: `Loja ${nth}` }, after: { name: `Loja ${nth + 1}` } }
  const rest = { action: 'account.updated', target: `target ${nth}`, reason: 'asked', ...values }
  return transaction(tx => recordAudit(tx, { actor, accountId, ...rest }))
}

async function linkAll(): Promise<void> {
  while ((await linkAuditRecords()) > 0);
}

function readLinks(of: string) {
  return db().auditLink.findMany({ where: { chain: of }, orderBy: { position: 'asc' } })
}

let owner: Database
beforeAll(() => {
  owner = connect({ url: ownerUrlOf(), poolMax: 1 })
})
afterAll(() => owner.$disconnect())

const GUARDED_TABLES = ['audit_log', 'audit_links', 'audit_chains']

/** Acts as the owner of the tables, who can disable their triggers. */
function asOwner(...statements: Prisma.Sql[]): Promise<void> {
  return transaction(async tx => {
    const setTriggers = async (state: 'DISABLE' | 'ENABLE') => {
      for (const table of GUARDED_TABLES)
        await tx.$executeRaw`${Prisma.raw(`ALTER TABLE ${table} ${state} TRIGGER USER`)}`
    }
    await setTriggers('DISABLE')
    for (const statement of statements) await tx.$executeRaw(statement)
    await setTriggers('ENABLE')
  }, owner)
}

const verify = async () => (await verifyAuditLog(db())).map(describeFlaw)

test('records of accounts and of the operator are linked without gaps, and nothing is wrong', async () => {
  await record(undefined, 0)
  await linkAll()
  for (const of of [chain, OPERATOR_CHAIN]) {
    const links = await readLinks(of)
    expect(links.length).toBeGreaterThan(0)
    expect(links.map(({ position }) => Number(position))).toEqual(links.map((_, at) => at + 1))
  }
  expect(await db().auditUnlinked.count()).toBe(0)
  expect(await verify()).toEqual([])
})

test('links cannot be changed or removed, even by the owner while the triggers are enabled', async () => {
  for (const statement of [
    Prisma.sql`DELETE FROM audit_links`,
    Prisma.sql`UPDATE audit_links SET hash = ''`,
    Prisma.sql`DELETE FROM audit_chains`,
  ])
    await expect(owner.$executeRaw(statement)).rejects.toThrow('is append-only')
})

describe('a changed record is named', () => {
  test.each([
    ['actor_type', `'system'`, 'was changed'],
    ['actor_id', 'gen_random_uuid()', 'was changed'],
    ['actor_id', 'NULL', 'was changed'],
    ['action', `'token.revoked'`, 'was changed'],
    ['request_id', `'another'`, 'was changed'],
    ['created_at', `created_at + interval '1 microsecond'`, 'was changed'],
    ['account_id', 'NULL', 'was changed'],
    ['target', `'another'`, 'was changed: target'],
    ['target', 'NULL', 'was changed: target'],
    ['before', `'{"name":"Loja 9"}'`, 'was changed: before'],
    ['after', 'NULL', 'was changed: after'],
    ['reason', `''`, 'was changed: reason'],
    ['ip', `'203.0.113.1'`, 'was changed: ip'],
  ])('%s set to %s', async (column, value, change) => {
    const id = ids[1] ?? ''
    const assignment = Prisma.raw(`${column} = ${value}`)
    await asOwner(Prisma.sql`UPDATE audit_log SET ${assignment} WHERE id = ${id}::uuid`)
    expect(await verify()).toEqual([`record ${id} ${change}`])
    await asOwner(Prisma.sql`DELETE FROM audit_log WHERE id = ${id}::uuid`)
    expect(await verify()).toEqual([`record ${id} was removed`])
  })
})

describe('is noticed', () => {
  const removeRecord = (at: number) =>
    Prisma.sql`DELETE FROM audit_log WHERE id = ${ids.at(at)}::uuid`
  const removeLink = (at: number) =>
    Prisma.sql`DELETE FROM audit_links WHERE record_id = ${ids.at(at)}::uuid`

  test.each([
    [
      'the removal of a record and its link',
      () => [removeRecord(1), removeLink(1)],
      () => `the link before that of record ${ids[2]} was removed`,
    ],
    [
      'the removal of the last record and its link',
      () => [removeRecord(-1), removeLink(-1)],
      () => `the last records of chain ${chain} were removed`,
    ],
    [
      'a shorter end that is not signed',
      () => [
        ...[removeRecord(-1), removeLink(-1)],
        Prisma.sql`UPDATE audit_chains k SET length = 3, hash = l.hash FROM audit_links l
          WHERE k.chain = ${chain}::uuid AND l.chain = k.chain AND l.position = 3`,
      ],
      () => `the end of chain ${chain} was changed`,
    ],
    [
      'an older signed end, put back after the removal of the last record',
      () => [
        ...[removeRecord(-1), removeLink(-1)],
        Prisma.sql`UPDATE audit_chains SET length = 2, hash = ${older?.hash}, mac = ${older?.mac}
          WHERE chain = ${chain}::uuid`,
      ],
      () => '5 records were linked, and 2 links are left',
    ],
    [
      'the removal of a whole chain',
      () => [
        Prisma.sql`DELETE FROM audit_links WHERE chain = ${chain}::uuid`,
        Prisma.sql`DELETE FROM audit_log WHERE account_id = ${chain}::uuid`,
        Prisma.sql`DELETE FROM audit_chains WHERE chain = ${chain}::uuid`,
      ],
      () => '5 records were linked, and 0 links are left',
    ],
    [
      'a changed record in a chain that is linked anew',
      () => [
        Prisma.sql`UPDATE audit_log SET reason = 'forged' WHERE id = ${ids[1]}::uuid`,
        Prisma.sql`DELETE FROM audit_links WHERE chain = ${chain}::uuid`,
        Prisma.sql`UPDATE audit_chains SET length = 0, hash = '', mac = '' WHERE chain = ${chain}::uuid`,
        Prisma.sql`INSERT INTO audit_unlinked SELECT id FROM audit_log WHERE account_id = ${chain}::uuid`,
      ],
      () => '5 records were linked, and 0 links are left',
    ],
    [
      'a changed total',
      () => [
        Prisma.sql`UPDATE audit_chains SET length = length, mac = sha256(mac)
          WHERE chain = ${TOTAL_CHAIN}::uuid`,
      ],
      () => 'the number of linked records was changed',
    ],
    [
      'the removal of the signed end',
      () => [Prisma.sql`DELETE FROM audit_chains WHERE chain = ${chain}::uuid`],
      () => `the end of chain ${chain} was removed`,
    ],
    [
      'two records in each other’s place',
      () => [
        Prisma.sql`UPDATE audit_links SET record_id = gen_random_uuid() WHERE record_id = ${ids[1]}::uuid`,
        Prisma.sql`UPDATE audit_links SET record_id = ${ids[1]}::uuid WHERE record_id = ${ids[2]}::uuid`,
        Prisma.sql`UPDATE audit_links SET record_id = ${ids[2]}::uuid
          WHERE chain = ${chain}::uuid AND position = 2`,
      ],
      () => `record ${ids[2]} was changed`,
    ],
    [
      'a link with another signature',
      () => [
        Prisma.sql`UPDATE audit_links SET mac = sha256(mac) WHERE record_id = ${ids[0]}::uuid`,
      ],
      () => `the link of record ${ids[0]} was changed`,
    ],
  ])('%s', async (_, attack, expected) => {
    const wrong = expected()
    await asOwner(...attack())
    expect(await verify()).toContain(wrong)
    await record(chain, 9)
    await linkAll()
    expect(await verify()).not.toEqual([])
  })

  test('a record without a link', async () => {
    const id = newId()
    await asOwner(Prisma.sql`
      INSERT INTO audit_log (id, account_id, actor_type, action, created_at)
      VALUES (${id}::uuid, ${chain}::uuid, 'system', 'account.updated', now() - interval '11 minutes')`)
    expect(await verify()).toEqual([`record ${id} has no link`])
  })
})

test('erased personal fields leave the chain valid, also without the salt; new ones do not', async () => {
  const id = ids[1] ?? ''
  await asOwner(
    Prisma.sql`UPDATE audit_log SET target = NULL, before = NULL, after = NULL, reason = NULL, ip = NULL
      WHERE id = ${id}::uuid`,
    Prisma.sql`UPDATE audit_links SET salt = NULL WHERE record_id = ${id}::uuid`,
  )
  expect(await verify()).toEqual([])
  await asOwner(Prisma.sql`UPDATE audit_log SET reason = 'never asked' WHERE id = ${id}::uuid`)
  expect(await verify()).toEqual([`record ${id} was changed: reason`])
})

test('several workers link every record once and without a gap', async () => {
  const others = await Promise.all([1, 2, 3].map(() => makeMerchant()))
  for (let nth = 0; nth < 200; nth++) await record(others[nth % 3]?.id, nth)
  await Promise.all([1, 2, 3, 4].map(linkAll))
  for (const { id } of others) {
    const positions = (await readLinks(id)).map(({ position }) => Number(position))
    expect(positions.length).toBeGreaterThanOrEqual(66)
    expect(positions).toEqual(positions.map((_, at) => at + 1))
  }
  expect(await verify()).toEqual([])
})

test('links move to a new TROCO_SECRET when they are checked', async () => {
  const TROCO_SECRET = env().TROCO_SECRET ?? ''
  try {
    supplyEnv({ TROCO_SECRET: 'x'.repeat(40), TROCO_SECRET_BEFORE: TROCO_SECRET })
    expect(await verify()).toEqual([])
    supplyEnv({ TROCO_SECRET_BEFORE: '' })
    expect(await verify()).toEqual([])
    supplyEnv({ TROCO_SECRET: 'y'.repeat(40) })
    expect(await verify()).not.toEqual([])
    supplyEnv({ TROCO_SECRET, TROCO_SECRET_BEFORE: 'x'.repeat(40) })
    expect(await verify()).toEqual([])
  } finally {
    supplyEnv({ TROCO_SECRET, TROCO_SECRET_BEFORE: '' })
  }
})

describe('the role of the application', () => {
  const forge = () =>
    asOwner(Prisma.sql`UPDATE audit_log SET reason = 'forged' WHERE id = ${ids[1]}::uuid`)
  const stored = () => db().auditChain.findUniqueOrThrow({ where: { chain } })
  const checkAll = async () => {
    while ((await checkAuditLog()) > 0);
  }

  test('cannot stop the linking by queueing what is linked already or does not exist', async () => {
    await db().$executeRaw`
      INSERT INTO audit_unlinked (record_id) VALUES (${ids[0]}::uuid), (gen_random_uuid())`
    await record(chain, 9)
    await linkAll()
    expect(await readLinks(chain)).toHaveLength(ids.length + 1)
    expect(await verify()).toEqual([])
  })

  test('cannot stop the linking by setting back the end, which is noticed', async () => {
    await db().$executeRaw`UPDATE audit_chains SET length = 2 WHERE chain = ${chain}::uuid`
    await record(chain, 9)
    await linkAll()
    expect(await readLinks(chain)).toHaveLength(ids.length + 1)
    expect(await verify()).not.toEqual([])
  })

  test.each([`'2080-01-01'`, `'infinity'`, `'-infinity'`])(
    'cannot skip the check by the time %s of the last one',
    async time => {
      await checkAll()
      const assignment = Prisma.raw(`checked_at = ${time}`)
      await db().$executeRaw`UPDATE audit_chains SET ${assignment} WHERE chain = ${chain}::uuid`
      await forge()
      await checkAll()
      const flaw: AuditFlaw = {
        code: 'field_changed',
        params: { record: ids[1] ?? '', field: 'reason' },
      }
      expect((await stored()).wrong).toBe(encodeFlaw(flaw))
    },
  )
})

test('the daily check stores what is wrong and continues after its time limit', async () => {
  const stored = () => db().auditChain.findUniqueOrThrow({ where: { chain } })
  while ((await checkAuditLog()) > 0);
  const mac = expect.any(Uint8Array)
  expect(await stored()).toMatchObject({
    wrong: null,
    checkedAt: expect.any(Date),
    checkedMac: mac,
  })
  expect(await checkAuditLog()).toBe(0)
  await db().$executeRaw`UPDATE audit_chains SET checked_at = NULL WHERE chain = ${chain}::uuid`
  expect(await checkAuditLog(-1)).toBe(0)
  expect((await stored()).checkedAt).toBeNull()
  const signature = Prisma.sql`mac = substr(sha256(mac), 1, 31) || '\\x00'::bytea`
  await asOwner(Prisma.sql`UPDATE audit_links SET ${signature} WHERE record_id = ${ids[2]}::uuid`)
  expect(await checkAuditLog()).toBe(1)
  const flaw: AuditFlaw = { code: 'link_changed', params: { record: ids[2] ?? '' } }
  expect(await stored()).toMatchObject({ wrong: encodeFlaw(flaw) })
})

test('a check that has ended begins anew the next time, also after it was stopped half way', async () => {
  const LINKS_OF_PAGE = 1_000
  const records = Array.from({ length: LINKS_OF_PAGE }, () => ({
    id: newId(),
    accountId: chain,
    actorType: 'system',
    action: 'account.updated',
  }))
  await db().auditRecord.createMany({ data: records })
  await linkAll()
  await db().$executeRaw`
    UPDATE audit_chains SET checked_at = now() + interval '1 hour' * (random() - 1)`
  while ((await checkAuditLog()) > 0);
  const makeDue = () =>
    db().$executeRaw`UPDATE audit_chains SET checked_at = NULL WHERE chain = ${chain}::uuid`
  const stored = () => db().auditChain.findUniqueOrThrow({ where: { chain } })
  await makeDue()
  await stopAfterOnePage()
  expect((await stored()).checkedAt).toBeNull()
  expect(await checkAuditLog()).toBe(1)
  expect((await stored()).wrong).toBeNull()
  const signature = Prisma.sql`mac = substr(sha256(mac), 1, 31) || '\\x00'::bytea`
  await asOwner(Prisma.sql`UPDATE audit_links SET ${signature} WHERE record_id = ${ids[2]}::uuid`)
  await makeDue()
  expect(await checkAuditLog()).toBe(1)
  const flaw: AuditFlaw = { code: 'link_changed', params: { record: ids[2] ?? '' } }
  expect(await stored()).toMatchObject({ wrong: encodeFlaw(flaw) })
})

/** Has a check wait for the records of its first page until its time is over. */
async function stopAfterOnePage(): Promise<void> {
  const LIMIT_MS = 700
  for (let isHeld = false; !isHeld; ) {
    // On a busy machine, the time may be over before the page is read: then once more.
    const [check] = await transaction(async tx => {
      await tx.$executeRaw`LOCK TABLE audit_log IN ACCESS EXCLUSIVE MODE`
      let isOver = false
      const running = checkAuditLog(LIMIT_MS).finally(() => {
        isOver = true
      })
      while (!isOver && !isHeld) {
        const waiting = await tx.$queryRaw<unknown[]>`
          SELECT FROM pg_locks WHERE relation = 'audit_log'::regclass AND NOT granted`
        isHeld = waiting.length > 0
      }
      await sleep(LIMIT_MS)
      return [running]
    }, owner)
    expect(await check).toBe(0)
  }
}
