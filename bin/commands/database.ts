import { withRuntime } from '#bin/command-line.ts'
import type { Runtime } from '#bin/runtime.ts'
import { env, loadEnvFile } from '#lib/core/settings.ts'
import { createApplicationRole, describeRole, inspectRole } from '#lib/db/roles.ts'
import { replaceServerSecret } from '#lib/db/server-secret.ts'

export async function migrateDatabase(): Promise<void> {
  const print = async ({ appliedMigrations }: Runtime) => {
    if (appliedMigrations.length === 0) process.stdout.write('The database is up to date\n')
    for (const name of appliedMigrations) process.stdout.write(`${name}\n`)
  }
  await withRuntime(print, { migrates: true })
}

/**
 * Sets up the owner's and the application's role; starting does the same, but creates no role. May
 * be repeated at any time, also after it was interrupted.
 */
export async function setUpRoles(): Promise<void> {
  loadEnvFile('.env')
  const { DATABASE_URL, DATABASE_OWNER_URL } = env()
  if (DATABASE_URL && DATABASE_OWNER_URL)
    await createApplicationRole(DATABASE_URL, DATABASE_OWNER_URL)
  const print = async () => {
    const { isLimited, line } = describeRole(await inspectRole())
    process.stdout.write(`${line}\n`)
    if (!isLimited) process.exitCode = 1
  }
  await withRuntime(print, { migrates: true })
}

/** Lets Troco start with another TROCO_SECRET after the former one was lost. */
export async function replaceSecret(): Promise<void> {
  const replace = async () => {
    const fingerprint = await replaceServerSecret()
    process.stdout.write(
      `The database now expects the TROCO_SECRET with fingerprint ${fingerprint}\n`,
    )
  }
  await withRuntime(replace, { acceptsAnySecret: true })
}
