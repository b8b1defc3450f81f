import { mkdirSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { openEmbedded } from '#lib/db/embedded.ts'
import { prepareTemplateDatabase } from '#lib/testing/database.ts'
import { readSuperuserUrl } from '#lib/testing/embedded.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { WITHOUT_LIMITS } from '#lib/testing/server.ts'

/** Log of all tests of a run. After the run it is searched for secrets and personal data. */
export const TEST_LOG = resolve('.cache/test.log')

/** Starts and migrates one PostgreSQL per run, unless no test of the run uses the database. */
export default async function setUpRun(): Promise<() => Promise<void>> {
  if (!process.env.TEST_SEED) process.stdout.write(`TEST_SEED=${chooseSeed()}\n`)
  setEnvironment()
  if (process.env.TEST_DATABASE === 'none') return async () => {}
  const folder = makeScratchFolder('troco-test-')
  const embedded = await openEmbedded({
    dataFolder: folder,
    password: 'only-for-this-run',
    settings: { max_connections: '300', autovacuum: 'off' },
  })
  const { url, ownerUrl } = embedded
  await prepareTemplateDatabase(url, ownerUrl)
  setEnvironment({
    DATABASE_URL: url,
    DATABASE_OWNER_URL: ownerUrl,
    TEST_SUPERUSER_URL: readSuperuserUrl(folder, ownerUrl),
  })
  return async () => {
    await embedded.release()
    rmSync(folder, { recursive: true, force: true })
  }
}

function setEnvironment(settings: Record<string, string> = {}): void {
  mkdirSync('.cache', { recursive: true })
  Object.assign(process.env, {
    TROCO_ENV: 'local',
    TROCO_SECRET: 'a-server-key-that-only-the-tests-know-0123456789',
    PUBLIC_URL: 'http://localhost:3000',
    LOG_FILE: TEST_LOG,
    LOG_LEVEL: 'debug',
    ...WITHOUT_LIMITS,
    ...settings,
  })
}
