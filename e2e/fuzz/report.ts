import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FuzzRun, Problem } from '#e2e/fuzz/run.ts'

const FOLDER = '.cache/fuzz'
const SHOWN_MAX = 20
const BYTES_SHOWN = 1_500

export function describeProblems(run: FuzzRun): string {
  const kinds = Map.groupBy(run.problems, ({ message }) => message.slice(0, 60))
  const examples = [...kinds.values()].map(group => ({ ...group[0]!, count: group.length }))
  return examples
    .slice(0, SHOWN_MAX)
    .map(example => `${example.count} × ${describeProblem(example, run)}`)
    .join('\n\n')
}

function describeProblem({ request, message }: Problem, run: FuzzRun): string {
  if (!request) return message
  const { seed, number, finish, usesFetch, packets } = request
  mkdirSync(FOLDER, { recursive: true })
  const file = join(FOLDER, `${seed}-${number}.http`)
  const bytes = Buffer.concat(packets)
  writeFileSync(file, bytes)
  const text = JSON.stringify(bytes.subarray(0, BYTES_SHOWN).toString('latin1'))
  const more = bytes.length > BYTES_SHOWN ? `… ${bytes.length} bytes in total` : ''
  return [
    message,
    `  repeat: FUZZ_SEED=${seed} FUZZ_ONLY=${number} vitest run e2e/fuzz; bytes in ${file}`,
    `  ${usesFetch ? 'by fetch' : `then ${finish}`}: ${text.replaceAll(run.world.token, '<token>')}${more}`,
  ].join('\n')
}
