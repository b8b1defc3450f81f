import { withRuntime } from '#bin/command-line.ts'

export async function migrateDatabase(): Promise<void> {
  await withRuntime(async ({ appliedMigrations }) => {
    if (appliedMigrations.length === 0) process.stdout.write('The database is up to date\n')
    for (const name of appliedMigrations) process.stdout.write(`${name}\n`)
  })
}
