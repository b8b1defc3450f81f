import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { requireOption, withRuntime } from '#bin/command-line.ts'
import { findAccount } from '#lib/accounts/queries.ts'
import { correctAlone } from '#lib/differences/corrections.ts'
import { listOpenItems } from '#lib/differences/differences.ts'
import { BANK, OPERATOR } from '#lib/differences/states.ts'
import { parseFields } from '#lib/http/body.ts'
import { correctionRequest } from '#lib/operator/differences/schema.ts'

/** Prints what differs, oldest first: time, kind, connection, facts, state and id, separated by tabs. */
export async function printOpenItems(): Promise<void> {
  await withRuntime(async () => {
    for (const { created_at, kind, connection, facts, state, id } of await listOpenItems()) {
      const line = [created_at, kind, connection, JSON.stringify(facts), state, id]
      process.stdout.write(`${line.join('\t')}\n`)
    }
  })
}

/** For an installation with a single admin: two admins settle a difference on its page. */
export async function correct(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      from: { type: 'string' },
      to: { type: 'string' },
      amount: { type: 'string' },
      reason: { type: 'string' },
      attachment: { type: 'string' },
    },
  })
  const itemId = requireOption(positionals[0], '<id>')
  const [from, to] = [requireOption(values.from, '--from'), requireOption(values.to, '--to')]
  const amount = Number(requireOption(values.amount, '--amount'))
  const reason = requireOption(values.reason, '--reason')
  const file = await readFile(requireOption(values.attachment, '--attachment'))
  await withRuntime(async () => {
    const parties = { from: await findParty(from), to: await findParty(to) }
    const fields = { ...parties, amount, reason, attachment: file.toString('base64') }
    const { attachment: _, ...request } = parseFields(correctionRequest, fields)
    process.stdout.write(`${await correctAlone({ itemId, ...request, attachment: file })}\n`)
  })
}

async function findParty(text: string): Promise<string> {
  return [BANK, OPERATOR].includes(text) ? text : (await findAccount(text)).id
}
