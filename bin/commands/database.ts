import { withRuntime } from '#bin/command-line.ts'

export async function migrateDatabase(): Promise<void> {
  await withRuntime(async ({ migrated }) => {
    if (migrated.length === 0) process.stdout.write('The database is up to date\n')
    for (const name of migrated) process.stdout.write(`${name}\n`)
  })
}
