import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import {
  listReceiptKeys,
  readCurrentKey,
  rotateReceiptKey,
  withdrawReceiptKey,
} from '#lib/receipts/sign.ts'

const ACTOR = { type: 'command_line' } as const

export async function listKeys(args: string[]): Promise<void> {
  parseArgs({ args })
  await withRuntime(async () => {
    const current = await readCurrentKey()
    for (const { id, createdAt, withdrawnAt } of await listReceiptKeys()) {
      const state = withdrawnAt ? 'withdrawn' : id === current.id ? 'signs' : 'verifies'
      process.stdout.write(`${[id, state, createdAt.toISOString()].join('\t')}\n`)
    }
  })
}

export async function rotateKey(args: string[]): Promise<void> {
  parseArgs({ args })
  await withRuntime(async () => {
    process.stdout.write(`${await rotateReceiptKey(ACTOR)}\n`)
  })
}

export async function withdrawKey(args: string[]): Promise<void> {
  const options = { reason: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const id = requireOption(positionals[0], '<id>')
  const reason = requireOption(values.reason, '--reason')
  await withRuntime(async () => {
    await withdrawReceiptKey(id, reason, ACTOR)
    process.stdout.write(`${id}\n`)
  })
}
