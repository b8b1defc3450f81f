import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdtempSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { checkRecords, NO_LOSS } from '#e2e/torture/clients.ts'
import { pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { OwnPostgres, removeOwnPostgres } from '#e2e/torture/own-postgres.ts'
import { openPostgresStage, type PostgresStage } from '#e2e/torture/own-stage.ts'

const CHARGE_COUNT = 10
const REFUSAL_COUNT = 20
/** Requests succeed until the free space in existing pages is used up. */
const REQUESTS_UNTIL_FULL_MAX = 500
const MOUNTED_SIZE = '256m'

interface Disk {
  postgres: OwnPostgres
  fill: () => Promise<void>
  freeSpace: () => Promise<void>
}

type DiskCase = [name: string, open: () => Promise<Disk>]

let stage: PostgresStage | undefined
const mounted: string[] = []
afterEach(async () => {
  await stage?.close()
  await removeOwnPostgres()
  stage = undefined
  for (const folder of mounted.splice(0)) unmount(folder)
})

function mountFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troco-disk-'))
  try {
    const options = `size=${MOUNTED_SIZE},mode=755`
    execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', options, 'troco', folder], { stdio: 'ignore' })
  } catch (error) {
    rmdirSync(folder)
    throw error
  }
  chmodSync(folder, 0o755)
  return folder
}

function unmount(folder: string): void {
  execFileSync('/bin/umount', ['-l', folder])
  rmdirSync(folder)
}

function canMount(): boolean {
  try {
    unmount(mountFolder())
    return true
  } catch {
    return false
  }
}

/** Opens a small file system, which a ballast file fills to the last page. */
async function openSmallDisk(): Promise<Disk> {
  const folder = mountFolder()
  mounted.push(folder)
  const ballast = join(folder, 'ballast')
  const fill = async () => {
    for (const size of [65_536, 4_096]) {
      try {
        for (;;) writeFileSync(ballast, Buffer.alloc(size, 1), { flag: 'a' })
      } catch (error) {
        expect(error).toMatchObject({ code: 'ENOSPC' })
      }
    }
  }
  return { postgres: await OwnPostgres.make(folder), fill, freeSpace: async () => rmSync(ballast) }
}

/**
 * For `npm test`, or where mounting is not allowed: /dev/full replaces two empty tables, `events`
 * (written last by a payment) and `idempotency_keys` (written first by a charge with a key).
 */
async function openFullDevice(): Promise<Disk> {
  const postgres = await OwnPostgres.make()
  let files: string[] = []
  const fill = async () => {
    const rows = await postgres.asSuperuser(
      `SELECT pg_relation_filepath(name) AS path FROM unnest('{events,idempotency_keys}'::text[]) name`,
    )
    files = rows.map(({ path }) => join(postgres.location, String(path)))
    await postgres.stop()
    for (const file of files) {
      renameSync(file, `${file}.kept`)
      symlinkSync('/dev/full', file)
    }
    await postgres.start()
  }
  const freeSpace = async () => {
    await postgres.stop()
    for (const file of files) renameSync(`${file}.kept`, file)
    await postgres.start()
  }
  return { postgres, fill, freeSpace }
}

const IS_FULL_RUN = pickSize(0, 1) === 1
const SMALL_DISK: DiskCase[] =
  IS_FULL_RUN && canMount() ? [['on a small file system', openSmallDisk]] : []
const DISK_CASES: DiskCase[] = [['for two of the tables', openFullDevice], ...SMALL_DISK]

test.each(DISK_CASES)(
  'while the disk is full, %s, writes get 503 and reads succeed; afterwards all succeed',
  async (caseName, open) => {
    const { postgres, fill, freeSpace } = await open()
    await postgres.start()
    stage = await openPostgresStage(postgres)
    const { accountId, clients } = await stage.openClients()
    const ids: string[] = []
    for (let count = 0; count < CHARGE_COUNT; count++) ids.push((await clients.create()).id ?? '')
    await fill()

    const refused: string[] = []
    for (
      let count = 0;
      count < REQUESTS_UNTIL_FULL_MAX && refused.length < REFUSAL_COUNT;
      count++
    ) {
      const { id } = await clients.create(`key ${count}`)
      if (id === null) refused.push(`key ${count}`)
    }
    for (const id of ids) await clients.pay(id)
    expect(clients.paid.size, 'paid although nothing could be written').toBeLessThan(CHARGE_COUNT)
    expect(refused).toHaveLength(REFUSAL_COUNT)
    const writes = new Set(
      clients.responses.map(({ status, text }) => (status === 200 ? 200 : text)),
    )
    expect(writes).toEqual(new Set([200, '{"error":"Service unavailable"}']))
    for (const path of [`/transactions/${ids[0]}`, '/transactions', '/withdrawals', '/account']) {
      expect((await clients.send(path)).status, path).toBe(200)
    }
    expect(await checkRecords(accountId, clients)).toMatchObject(NO_LOSS)

    await freeSpace()
    for (const key of refused) expect((await clients.create(key)).response.status).toBe(200)
    for (const id of ids)
      if (!clients.paid.has(id)) expect((await clients.pay(id)).status).toBe(200)
    const { foundCharges: found, ...check } = await checkRecords(accountId, clients)
    recordFigures(`disk full, ${caseName}`, {
      refused: clients.responses.filter(({ status }) => status === 503).length,
      acknowledged: clients.created.size,
      found,
    })
    expect(check).toEqual(NO_LOSS)
    expect(stage.api.exitStatus()).toBeNull()
    expect((await stage.api.measure()).problems).toEqual([])
  },
)
