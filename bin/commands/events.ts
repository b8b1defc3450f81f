import { parseArgs } from 'node:util'
import { withRuntime } from '#bin/command-line.ts'
import { renewFeedEpochs } from '#lib/services/webhooks/feed.ts'

export async function renewEpochs(args: string[]): Promise<void> {
  parseArgs({ args, options: {} })
  await withRuntime(async () => {
    process.stdout.write(`${await renewFeedEpochs()} event feeds have a new epoch\n`)
  })
}
