import { withRuntime } from '#bin/command-line.ts'
import { listOpenItems } from '#lib/differences/differences.ts'

/** Prints what staff must decide, oldest first: time, kind, connection and facts, separated by tabs. */
export async function printOpenItems(): Promise<void> {
  await withRuntime(async () => {
    for (const { created_at, kind, connection, facts } of await listOpenItems()) {
      process.stdout.write(`${[created_at, kind, connection, JSON.stringify(facts)].join('\t')}\n`)
    }
  })
}
