import { Client, type QueryResult } from 'pg'
import { makeDatabase, ownerUrlOf } from '#lib/testing/database.ts'
import { makeInstallation, runTroco } from '#lib/testing/process.ts'

export type CommandLine = Awaited<ReturnType<typeof openCommandLine>>

/**
 * Opens a database of the run's PostgreSQL for commands. With the embedded PostgreSQL of an installation,
 * each command would start and stop it.
 */
export async function openCommandLine() {
  const { folder, settings, remove } = await makeInstallation()
  const url = await makeDatabase()
  const ownerUrl = ownerUrlOf(url)
  Object.assign(settings, { DATABASE_URL: url, DATABASE_OWNER_URL: ownerUrl, TROCO_ENV: 'local' })
  return {
    folder,
    settings,
    ownerUrl,
    close: remove,
    troco: (...args: string[]) => runTroco(args, settings),
    async queryAsOwner(text: string, values: unknown[]): Promise<QueryResult> {
      const client = new Client({ connectionString: ownerUrl })
      await client.connect()
      return client.query(text, values).finally(() => client.end())
    },
  }
}

/** Returns the last line that a command printed. */
export function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? ''
}
