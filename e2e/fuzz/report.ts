import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FuzzProblem, FuzzRun } from '#e2e/fuzz/run.ts'

const FOLDER = '.cache/fuzz'
const SHOWN_PROBLEMS_MAX = 20
const SHOWN_BYTES_MAX = 1_500

export function describeProblems(run: FuzzRun): string {
  const kinds = Map.groupBy(run.problems, ({ message }) => message.slice(0, 60))
  const examples = [...kinds.values()].map(group => ({ ...group[0]!, count: group.length }))
  return examples
    .slice(0, SHOWN_PROBLEMS_MAX)
    .map(example => `${example.count} × ${describeProblem(example, run)}`)
    .join('\n\n')
}

function describeProblem({ request, message }: FuzzProblem, run: FuzzRun): string {
  if (!request) return message
  const { seed, number, finish, usesFetch, packets } = request
  mkdirSync(FOLDER, { recursive: true })
  const file = join(FOLDER, `${seed}-${number}.http`)
  const bytes = Buffer.concat(packets)
  writeFileSync(file, bytes)
  const text = JSON.stringify(bytes.subarray(0, SHOWN_BYTES_MAX).toString('latin1'))
  const ellipsis = bytes.length > SHOWN_BYTES_MAX ? `… ${bytes.length} bytes in total` : ''
  return [
    message,
    `  repeat: FUZZ_SEED=${seed} FUZZ_ONLY=${number} vitest run e2e/torture/fuzz; bytes in ${file}`,
    `  ${usesFetch ? 'by fetch' : `then ${finish}`}: ${text.replaceAll(run.world.token, '<token>')}${ellipsis}`,
  ].join('\n')
}
